/* config_scan.h - one look over a configuration's text before libConfuse reads it.
 *
 * libConfuse miscounts lines at comments, takes the end of the file for any number of closing braces, and
 * drops characters that it has no use for ("*" outside quotes among them). This pass overwrites comments with
 * spaces, so that line numbers hold and a comment may stand anywhere, and finds those faults with the line
 * where they begin. It owns nothing and allocates nothing. Any thread. Cost: linear. */
#ifndef CONF_CONFIG_SCAN_H
#define CONF_CONFIG_SCAN_H

#include <stddef.h>

/* NULL, or what is wrong as a part of a sentence, with *line set. text is changed in place. */
const char *config_scan(char *text, size_t length, int *line);

#endif
