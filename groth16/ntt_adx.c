/* The NTT's kernels with mulx, adcx and adox; only called where cpu_level() says that the processor has them.
 */
#define MONT_ADX
#define NTT(name) ntt_adx_##name
#include "groth16/ntt_kernel.h"
