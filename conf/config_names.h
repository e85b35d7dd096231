/* config_names.h - the words of the configuration file, one table for reading and printing. Index by the enum
 * of the same name in config.h; each table ends with NULL. Constant data: any thread. */
#ifndef CONF_CONFIG_NAMES_H
#define CONF_CONFIG_NAMES_H

#define CONFIG_SIM_STAGES 5

extern const char *const config_priority_names[];
extern const char *const config_check_points_names[];
extern const char *const config_tables_names[];
extern const char *const config_trim_names[];
extern const char *const config_allocator_names[];
extern const char *const config_buffers_names[];
extern const char *const config_boolean_names[]; /* an odd index means true */
extern const char *const config_sim_stage_names[CONFIG_SIM_STAGES + 1];

#endif
