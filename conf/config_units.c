#include "conf/check.h"
#include "conf/config.h"

#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* A whole number followed at once by one of the units. */
static bool number_with_unit(uint64_t *value, const char *text, const struct unit *units)
{
    CHECK(text != NULL);
    const char *at = text;
    uint64_t number = 0;
    while (*at >= '0' && *at <= '9') {
        unsigned digit = (unsigned)(*at++ - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    if (at == text) {
        return false;
    }
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (strcasecmp(at, unit->name) == 0) {
            if (number > UINT64_MAX / unit->factor) {
                return false;
            }
            *value = number * unit->factor;
            return true;
        }
    }
    return false;
}

bool config_duration_ns(uint64_t *ns, const char *text)
{
    static const struct unit units[] = {
        {"ns", 1},           {"us", 1000},          {"ms", 1000000}, {"s", 1000000000},
        {"m", 60000000000u}, {"h", 3600000000000u}, {NULL, 0},
    };
    /* Durations are lower case only: "5M" is more likely a mistaken size than five minutes. */
    for (const char *at = text; *at != '\0'; at++) {
        if (*at >= 'A' && *at <= 'Z') {
            return false;
        }
    }
    return number_with_unit(ns, text, units);
}

bool config_size_bytes(uint64_t *bytes, const char *text)
{
    static const struct unit units[] = {
        {"b", 1}, {"kb", 1ull << 10}, {"mb", 1ull << 20}, {"gb", 1ull << 30}, {"tb", 1ull << 40}, {NULL, 0},
    };
    return number_with_unit(bytes, text, units);
}
