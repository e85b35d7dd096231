/* sim_plant.h - rules of the shell that can be broken, to see that the simulator notices. */
#ifndef TESTS_SIM_PLANT_H
#define TESTS_SIM_PLANT_H

#include <stdbool.h>

/* Breaks one from now on; false: no such name. */
bool sim_plant(const char *name);

/* All names, in one text. */
const char *sim_plant_names(void);

#endif
