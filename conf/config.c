/* Reading goes in two passes. libConfuse parses the text into strings; a callback sees every assignment and
 * notes where it was. Then each value is resolved, so that any number of problems can be reported, each with
 * its file and line. */
#include "conf/config.h"

#include "conf/check.h"
#include "conf/config_names.h"
#include "conf/config_scan.h"

#include <confuse.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEXT_BYTES_MAX = 16 << 20,
    FILES_MAX = 16, /* the configuration and what it includes */
    NAME_BYTES_MAX =
        200 /* of a stem or job name: leaves room for ".proof.json" and the like below NAME_MAX */
};

/* Where something was written. */
struct place {
    const void *what; /* a cfg_opt_t, or the cfg_t of a section */
    const char *file;
    int line;
};

struct reader {
    struct error *error;
    char *files[FILES_MAX]; /* [0] is the configuration; each is parsed once, in the order of inclusion */
    size_t files_count;
    size_t file; /* being parsed */
    struct place *places;
    size_t places_count, places_capacity;
};

/* libConfuse's callbacks have no room for a context. */
static _Thread_local struct reader *active;

static _Noreturn void out_of_memory(void)
{
    fputs("uzk: out of memory while reading the configuration\n", stderr);
    exit(3);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        out_of_memory();
    }
    return memory;
}

static char *duplicate(const char *text)
{
    return strcpy(allocate(strlen(text) + 1, 1), text);
}

/* ---- Reporting ---- */

__attribute__((format(printf, 2, 0))) static void report_v(const struct place *place, const char *format,
                                                           va_list arguments)
{
    struct error *error = active->error;
    char text[ERROR_TEXT_BYTES];
    int prefix = place->line > 0 ? snprintf(text, sizeof text, "%s:%d: ", place->file, place->line)
                                 : snprintf(text, sizeof text, "%s: ", place->file);
    if (prefix >= 0 && (size_t)prefix < sizeof text) {
        vsnprintf(text + prefix, sizeof text - (size_t)prefix, format, arguments);
    }
    if (error->code == ERROR_NONE) {
        error_set(error, ERROR_INPUT, "%s", text);
        return;
    }
    size_t used = strlen(error->text);
    if (used + 1 + strlen(text) < sizeof error->text) {
        error->text[used] = '\n';
        strcpy(error->text + used + 1, text);
    }
}

__attribute__((format(printf, 2, 3))) static void report(const struct place *place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report_v(place, format, arguments);
    va_end(arguments);
}

/* libConfuse's own complaints. To an unknown key we add what is known there. */
static void parse_error(cfg_t *cfg, const char *format, va_list arguments)
{
    char text[256];
    vsnprintf(text, sizeof text, format, arguments);
    char known[256] = "";
    if (strncmp(format, "no such option", 14) == 0) {
        size_t used = 0;
        for (const cfg_opt_t *opt = cfg->opts; opt->name != NULL && used < sizeof known; opt++) {
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     used == 0 ? "; known here: " : ", ", opt->name);
        }
    }
    struct place place = {cfg, active->files[active->file], cfg->line};
    report(&place, "%s%s", text, known);
}

/* ---- Parsing ---- */

static const struct place *place_find(const void *what)
{
    for (size_t i = 0; i < active->places_count; i++) {
        if (active->places[i].what == what) {
            return &active->places[i];
        }
    }
    return NULL;
}

static void place_add(const void *what, int line)
{
    if (active->places_count == active->places_capacity) {
        size_t capacity = active->places_capacity * 2 + 64;
        struct place *places = allocate(capacity, sizeof *places);
        if (active->places_count > 0) {
            memcpy(places, active->places, active->places_count * sizeof *places);
        }
        free(active->places);
        active->places = places;
        active->places_capacity = capacity;
    }
    active->places[active->places_count++] = (struct place){what, active->files[active->file], line};
}

/* Called for every assigned string, list elements included; lists begin with one value. */
static int assigned(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
    if (opt->nvalues <= 1) {
        const struct place *before = place_find(opt);
        if (before != NULL) {
            struct place place = {opt, active->files[active->file], cfg->line};
            report(&place, "%s is set a second time, first in %s:%d", opt->name, before->file, before->line);
        } else {
            place_add(opt, cfg->line);
        }
    }
    *(const char **)result = value;
    return 0;
}

/* Called at a section's closing brace. */
static int section_ended(cfg_t *cfg, cfg_opt_t *opt)
{
    CHECK(opt->nvalues > 0);
    const cfg_t *section = opt->values[opt->nvalues - 1]->section;
    if (place_find(section) == NULL) {
        place_add(section, cfg->line);
    }
    return 0;
}

static char *folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    if (slash == NULL) {
        return duplicate("");
    }
    char *folder = duplicate(file);
    folder[slash - file + 1] = '\0';
    return folder;
}

static char *concatenate(const char *a, const char *b)
{
    const size_t bytes = strlen(a) + strlen(b) + 1;
    char *text = allocate(bytes, 1);
    snprintf(text, bytes, "%s%s", a, b);
    return text;
}

/* The length of path[0, length) without its last folder and the slash behind it; length itself where that
 * can't be said, as behind a symbolic link, whose ".." is elsewhere. A folder that isn't there yet is no
 * link. */
static size_t length_of_parent(char *path, size_t length)
{
    size_t start = length - 1; /* of the last folder; path[length - 1] is a slash */
    while (start > 0 && path[start - 1] != '/') {
        start--;
    }
    if (length - start == 3 && strncmp(path + start, "..", 2) == 0) {
        return length;
    }
    struct stat status;
    path[length - 1] = '\0';
    bool is_folder =
        start < length - 1 && (lstat(path, &status) == 0 ? S_ISDIR(status.st_mode) : errno == ENOENT);
    path[length - 1] = '/';
    return is_folder ? start : length;
}

/* Takes "./", "//", a last "/" and where possible "folder/.." out of a path, in place, so that a file has one
 * name. */
static void simplify_path(char *path)
{
    CHECK(path[0] != '\0');
    size_t to = 0;
    bool absolute = path[0] == '/';
    for (const char *from = path; *from != '\0';) {
        size_t part = strcspn(from, "/");
        size_t parent = to;
        if (part == 2 && strncmp(from, "..", 2) == 0 && to > (absolute ? 1 : 0)) {
            parent = length_of_parent(path, to);
        }
        if (parent < to) {
            to = parent;
        } else if (part == 0 ? to == 0 : !(part == 1 && from[0] == '.')) {
            memmove(path + to, from, part);
            to += part;
            path[to] = from[part]; /* the slash; it was read already, as to never passes from */
            to += from[part] != '\0';
        }
        from += part + (from[part] != '\0');
    }
    if (to > 1 && path[to - 1] == '/') {
        to--;
    }
    if (to == 0) {
        path[to++] = '.';
    }
    path[to] = '\0';
}

/* A path as written in `file`, from the working folder. */
static char *resolve_path(const char *file, const char *path)
{
    char *folder = path[0] == '/' ? duplicate("") : folder_of(file);
    char *whole = concatenate(folder, path);
    free(folder);
    simplify_path(whole);
    return whole;
}

/* NULL when `path` can be read from as a plain file. */
static const char *file_fault(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return strerror(errno);
    }
    if (S_ISDIR(status.st_mode)) {
        return "a folder, not a file";
    }
    return S_ISREG(status.st_mode) ? NULL : "not a plain file";
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The length of the beginning of a path that is there, cut behind a whole name; 0: it begins in the working
 * folder and none of it is. *status is that of what is there. */
static size_t existing_length(struct stat *status, const char *path)
{
    char *beginning = duplicate(path);
    size_t length = strlen(path);
    while (length > 0 && stat(beginning, status) != 0) {
        do {
            length--;
        } while (length > 0 && path[length] != '/');
        length = length == 0 && path[0] == '/' ? 1 : length;
        beginning[length] = '\0';
    }
    free(beginning);
    if (length == 0 && stat(".", status) != 0) {
        *status = (struct stat){0}; /* the working folder has been removed */
    }
    return length;
}

/* A text that is the same however the way to a folder is written: which the last folder on it is that is
 * there, and the names from there on. */
static char *folder_identity(const char *path)
{
    struct stat status;
    const char *rest = path + existing_length(&status, path);
    rest += strspn(rest, "/");
    const size_t bytes = strlen(rest) + 64;
    char *identity = allocate(bytes, 1);
    snprintf(identity, bytes, "%llx:%llx/%s", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino, rest);
    return identity;
}

/* include("file"): parsed after the current file, so that libConfuse's own stack of files isn't needed. */
static int include(cfg_t *cfg, cfg_opt_t *opt, int argc, const char **argv)
{
    struct place place = {opt, active->files[active->file], cfg->line};
    if (argc != 1 || argv[0][0] == '\0') {
        report(&place, "include takes one file name");
        return 1;
    }
    char *path = resolve_path(place.file, argv[0]);
    const char *fault = file_fault(path);
    if (fault != NULL) {
        report(&place, "include: %s: %s", path, fault);
        free(path);
        return 1;
    }
    for (size_t i = 0; i < active->files_count; i++) {
        if (same_file(active->files[i], path)) {
            report(&place, "%s is already being read: a file can be included once", path);
            free(path);
            return 1;
        }
    }
    if (active->files_count == FILES_MAX) {
        report(&place, "more than %d included files", FILES_MAX - 1);
        free(path);
        return 1;
    }
    active->files[active->files_count++] = path;
    return 0;
}

#define SETTING(name) CFG_STR_CB(name, NULL, CFGF_NODEFAULT, assigned)
#define LIST(name)    CFG_STR_LIST_CB(name, NULL, CFGF_NODEFAULT, assigned)

static cfg_t *parser_make(void)
{
    cfg_opt_t circuit[] = {SETTING("zkey"), SETTING("check_points"), SETTING("tables"), CFG_END()};
    cfg_opt_t job[] = {SETTING("circuit"),
                       LIST("witnesses"),
                       LIST("inputs"),
                       LIST("witness_command"),
                       SETTING("output"),
                       SETTING("bundle"),
                       SETTING("witness_timeout"),
                       SETTING("priority"),
                       SETTING("deadline"),
                       CFG_END()};
    cfg_opt_t device[] = {SETTING("h2d"), SETTING("evaluate"), SETTING("ntt"),  SETTING("msm"),
                          SETTING("d2h"), SETTING("spread"),   SETTING("seed"), CFG_END()};
    cfg_opt_t memory[] = {SETTING("budget"), SETTING("safety_margin"), CFG_END()};
    cfg_opt_t trim[] = {SETTING("policy"), SETTING("interval"), SETTING("min_freed"), CFG_END()};
    cfg_opt_t root[] = {
        CFG_SEC("circuit", circuit, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
        CFG_SEC("job", job, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
        CFG_SEC("device", device, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
        LIST("devices"),
        SETTING("lanes_per_device"),
        SETTING("threads"),
        SETTING("lookahead"),
        CFG_SEC("memory", memory, CFGF_NONE),
        CFG_SEC("trim", trim, CFGF_NONE),
        SETTING("allocator"),
        SETTING("buffers"),
        SETTING("trace"),
        SETTING("timeline"),
        SETTING("self_check"),
        CFG_FUNC("include", include),
        CFG_END(),
    };
    for (cfg_opt_t *opt = root; opt->name != NULL; opt++) {
        opt->validcb = opt->type == CFGT_SEC ? section_ended : NULL;
    }
    cfg_t *cfg = cfg_init(root, CFGF_NONE);
    if (cfg != NULL) {
        cfg_set_error_function(cfg, parse_error);
    }
    return cfg;
}

static char *read_open_text(size_t *length, FILE *file, const char *path, struct error *error)
{
    struct stat status;
    if (fstat(fileno(file), &status) != 0) {
        error_set_errno(error, errno, "%s: cannot open the configuration", path);
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        error_set(error, ERROR_INPUT, "%s: not a plain file, so not a configuration", path);
        return NULL;
    }
    if (status.st_size > TEXT_BYTES_MAX) {
        error_set(error, ERROR_INPUT, "%s: %lld bytes are too many for a configuration (at most %d)", path,
                  (long long)status.st_size, TEXT_BYTES_MAX);
        return NULL;
    }
    char *text = allocate((size_t)status.st_size + 1, 1);
    *length = fread(text, 1, (size_t)status.st_size, file);
    if (ferror(file) != 0) {
        error_set_errno(error, errno, "%s: cannot read the configuration", path);
        free(text);
        return NULL;
    }
    return text;
}

/* The whole file with a terminator, for the caller to free; NULL: *error says why. */
static char *read_text(size_t *length, const char *path, struct error *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        error_set_errno(error, errno, "%s: cannot open the configuration", path);
        return NULL;
    }
    char *text = read_open_text(length, file, path, error);
    fclose(file);
    return text;
}

static void parse_text(cfg_t *cfg, const char *path, char *text, size_t length)
{
    struct place place = {cfg, path, 1};
    const char *fault = config_scan(text, length, &place.line);
    if (fault != NULL) {
        report(&place, "%s", fault);
        return;
    }
    if (length == 0) {
        return; /* empty, so no setting */
    }
    FILE *stream = fmemopen(text, length, "r");
    if (stream == NULL) {
        error_set_errno(active->error, errno, "%s: reading", path);
        return;
    }
    free(cfg->filename);
    cfg->filename = duplicate(path);
    int result = cfg_parse_fp(cfg, stream);
    fclose(stream);
    if (result != CFG_SUCCESS && active->error->code == ERROR_NONE) {
        place.line = cfg->line;
        report(&place, "syntax error");
    }
}

static enum error_code parse_files(cfg_t *cfg)
{
    struct error *error = active->error;
    for (; active->file < active->files_count && error->code == ERROR_NONE; active->file++) {
        const char *path = active->files[active->file];
        size_t length;
        char *text = read_text(&length, path, error);
        if (text != NULL) {
            parse_text(cfg, path, text, length);
            free(text);
        }
    }
    return error->code;
}

/* ---- Values ---- */

static cfg_opt_t *option(cfg_t *section, const char *name)
{
    for (cfg_opt_t *opt = section->opts; opt->name != NULL; opt++) {
        if (strcmp(opt->name, name) == 0) {
            return opt;
        }
    }
    CHECK(!"a setting of the schema");
    return NULL;
}

static size_t option_count(const cfg_opt_t *opt)
{
    return opt->nvalues;
}

/* The only or i-th value; NULL when the setting is absent. */
static const char *option_text(const cfg_opt_t *opt, size_t i)
{
    return i < opt->nvalues ? opt->values[i]->string : NULL;
}

static struct place option_place(const cfg_opt_t *opt)
{
    const struct place *place = place_find(opt);
    return place != NULL ? *place : (struct place){opt, active->files[0], 0};
}

static struct place section_place(const cfg_t *section)
{
    const struct place *place = place_find(section);
    return place != NULL ? *place : (struct place){section, active->files[0], 0};
}

/* Users of other formats end a line with ';'; libConfuse takes it for a part of the word. */
static const char *semicolon_hint(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && text[length - 1] == ';' ? " (no semicolon at the end of a setting)" : "";
}

static void read_duration(uint64_t *ns, cfg_t *section, const char *name, uint64_t min)
{
    const cfg_opt_t *opt = option(section, name);
    const char *text = option_text(opt, 0);
    uint64_t value;
    if (text == NULL) {
        return;
    }
    struct place place = option_place(opt);
    if (!config_duration_ns(&value, text)) {
        report(&place, "%s = \"%s\": expected a duration with its unit, such as 500ms, 30s, 5m or 2h%s", name,
               text, semicolon_hint(text));
    } else if (value < min) {
        report(&place, "%s = \"%s\" is too short%s", name, text,
               strcmp(name, "deadline") == 0 ? "; leave it out for no deadline" : "");
    } else {
        *ns = value;
    }
}

static void read_size(uint64_t *bytes, cfg_t *section, const char *name, bool auto_allowed)
{
    const cfg_opt_t *opt = option(section, name);
    const char *text = option_text(opt, 0);
    uint64_t value;
    if (text == NULL || (auto_allowed && strcmp(text, "auto") == 0)) {
        return;
    }
    struct place place = option_place(opt);
    if (!config_size_bytes(&value, text)) {
        report(&place, "%s = \"%s\": expected %sa size with its unit, such as 64kb, 64mb or 1gb%s", name,
               text, auto_allowed ? "auto or " : "", semicolon_hint(text));
    } else if (auto_allowed && value == 0) {
        report(&place, "%s = \"%s\": write auto for what the machine has", name, text);
    } else {
        *bytes = value;
    }
}

static bool number_parse(uint64_t *value, const char *text)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

/* auto is 0, where a count is meant; min > 0 there. */
static void read_number(uint64_t *number, cfg_t *section, const char *name, uint64_t min, uint64_t max)
{
    const cfg_opt_t *opt = option(section, name);
    const char *text = option_text(opt, 0);
    uint64_t value;
    if (text == NULL || (min > 0 && strcmp(text, "auto") == 0)) {
        return;
    }
    if (number_parse(&value, text) && value >= min && value <= max) {
        *number = value;
        return;
    }
    struct place place = option_place(opt);
    report(&place, "%s = \"%s\": expected %sa whole number from %llu to %llu%s", name, text,
           min > 0 ? "auto or " : "", (unsigned long long)min, (unsigned long long)max, semicolon_hint(text));
}

static void read_count(unsigned *count, cfg_t *section, const char *name, unsigned max)
{
    uint64_t value = *count;
    read_number(&value, section, name, 1, max);
    *count = (unsigned)value;
}

/* Index into a NULL-terminated table of words, or `absent`. */
static unsigned read_word(cfg_t *section, const char *name, const char *const *words, unsigned absent)
{
    const cfg_opt_t *opt = option(section, name);
    const char *text = option_text(opt, 0);
    if (text == NULL) {
        return absent;
    }
    char list[128] = "";
    size_t used = 0;
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            return i;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", words[i]);
        CHECK(used < sizeof list);
    }
    struct place place = option_place(opt);
    report(&place, "%s = \"%s\": expected one of %s%s", name, text, list, semicolon_hint(text));
    return absent;
}

static bool read_boolean(cfg_t *section, const char *name, bool absent)
{
    return read_word(section, name, config_boolean_names, absent) % 2 == 1;
}

/* A path that was set, resolved; NULL when it is absent or empty, the latter reported. */
static char *read_path(cfg_t *section, const char *name)
{
    const cfg_opt_t *opt = option(section, name);
    const char *text = option_text(opt, 0);
    if (text == NULL) {
        return NULL;
    }
    struct place place = option_place(opt);
    if (text[0] == '\0') {
        report(&place, "%s = \"\": expected a path", name);
        return NULL;
    }
    return resolve_path(place.file, text);
}

/* Names that become parts of file names. */
static const char *name_fault(const char *name)
{
    if (name[0] == '\0') {
        return "is empty";
    }
    if (name[0] == '.') {
        return "starts with a dot";
    }
    if (strlen(name) > NAME_BYTES_MAX) {
        return "is longer than 200 bytes";
    }
    for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++) {
        if (*at == '/') {
            return "has a slash in it";
        }
        if (*at < ' ' || *at == 127) {
            return "has a control character in it";
        }
    }
    return NULL;
}

/* ---- Circuits ---- */

static void read_circuit(struct config_circuit *circuit, cfg_t *section)
{
    circuit->name = duplicate(section->title);
    circuit->zkey = read_path(section, "zkey");
    circuit->check_points = (enum config_check_points)read_word(
        section, "check_points", config_check_points_names, CONFIG_CHECK_CURVE);
    circuit->tables =
        (enum config_tables)read_word(section, "tables", config_tables_names, CONFIG_TABLES_AUTO);
    const cfg_opt_t *zkey = option(section, "zkey");
    struct place place = option_place(zkey);
    circuit->line = place.line;
    if (option_count(zkey) == 0) {
        place = section_place(section);
        report(&place, "circuit %s ends here without a zkey", circuit->name);
    } else if (circuit->zkey != NULL) {
        const char *fault = file_fault(circuit->zkey);
        if (fault != NULL) {
            report(&place, "zkey: %s: %s", circuit->zkey, fault);
        }
    }
}

/* ---- Jobs ---- */

static char *stem_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(base, '.');
    char *stem = duplicate(base);
    if (dot != NULL && dot != base) {
        stem[dot - base] = '\0';
    }
    return stem;
}

static void add_input(struct config_job *job, size_t *capacity, const char *found, const struct place *place)
{
    char *path = duplicate(found);
    simplify_path(path);
    const char *fault = file_fault(path);
    char *stem = stem_of(path);
    if (fault == NULL && (fault = name_fault(stem)) != NULL) {
        report(place, "%s: the name, which outputs take over, %s", path, fault);
    } else if (fault != NULL) {
        report(place, "%s: %s", path, fault);
    }
    if (job->inputs_count == *capacity) {
        *capacity = *capacity * 2 + 16;
        struct config_input *inputs = allocate(*capacity, sizeof *inputs);
        if (job->inputs_count > 0) {
            memcpy(inputs, job->inputs, job->inputs_count * sizeof *inputs);
        }
        free(job->inputs);
        job->inputs = inputs;
    }
    job->inputs[job->inputs_count++] = (struct config_input){path, stem};
}

/* The folder is taken as it is, wildcards count only in what the user wrote. */
static char *pattern_make(const char *file, const char *text)
{
    char *folder = text[0] == '/' ? duplicate("") : folder_of(file);
    char *escaped = allocate(2 * strlen(folder) + 1, 1);
    char *to = escaped;
    for (const char *from = folder; *from != '\0'; from++) {
        if (strchr("*?[]\\", *from) != NULL) {
            *to++ = '\\';
        }
        *to++ = *from;
    }
    char *pattern = concatenate(escaped, text);
    free(escaped);
    free(folder);
    return pattern;
}

static int compare_inputs(const void *a, const void *b)
{
    return strcmp(((const struct config_input *)a)->path, ((const struct config_input *)b)->path);
}

static void read_inputs(struct config_job *job, const cfg_opt_t *opt)
{
    struct place place = option_place(opt);
    size_t capacity = 0;
    for (size_t i = 0; i < option_count(opt); i++) {
        const char *text = option_text(opt, i);
        char *pattern = pattern_make(place.file, text);
        glob_t found;
        errno = 0;
        int result = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found);
        if (result == GLOB_NOSPACE || (result == GLOB_ABORTED && errno == ENOMEM)) {
            out_of_memory();
        }
        if (text[0] == '\0' || result == GLOB_NOMATCH) {
            report(&place, "%s: \"%s\" names no file%s", opt->name, text, semicolon_hint(text));
        } else if (result != 0) {
            report(&place, "%s: \"%s\": a folder cannot be read", opt->name, text);
        } else {
            for (size_t k = 0; k < found.gl_pathc; k++) {
                add_input(job, &capacity, found.gl_pathv[k], &place);
            }
        }
        if (result == 0) {
            globfree(&found);
        }
        free(pattern);
    }
    if (job->inputs_count > 0) {
        qsort(job->inputs, job->inputs_count, sizeof *job->inputs, compare_inputs);
    }
}

/* An argument that begins with ./ or ../, and a program named with a slash, belong to the configuration's
 * folder. Made absolute, so that they keep their meaning wherever the command runs. */
static char *resolve_argument(const char *file, const char *argument, bool program)
{
    bool is_path = strncmp(argument, "./", 2) == 0 || strncmp(argument, "../", 3) == 0 ||
                   (program && strchr(argument, '/') != NULL);
    if (!is_path) {
        return duplicate(argument);
    }
    char *path = resolve_path(file, argument);
    if (path[0] == '/') {
        return path;
    }
    char *here = getcwd(NULL, 0);
    char *slashed = concatenate(here == NULL ? "." : here, "/");
    char *absolute = concatenate(slashed, path);
    free(here);
    free(slashed);
    free(path);
    return absolute;
}

static bool program_found(const char *program)
{
    if (strchr(program, '/') != NULL) {
        return file_fault(program) == NULL && access(program, X_OK) == 0;
    }
    const char *path = getenv("PATH");
    for (const char *at = path == NULL ? "/bin:/usr/bin" : path; at != NULL;) {
        const char *colon = strchr(at, ':');
        int length = colon == NULL ? (int)strlen(at) : (int)(colon - at);
        char candidate[PATH_MAX];
        if (snprintf(candidate, sizeof candidate, "%.*s/%s", length, length > 0 ? at : ".", program) <
                (int)sizeof candidate &&
            file_fault(candidate) == NULL && access(candidate, X_OK) == 0) {
            return true;
        }
        at = colon == NULL ? NULL : colon + 1;
    }
    return false;
}

static void read_witness_command(struct config_job *job, const cfg_opt_t *opt)
{
    struct place place = option_place(opt);
    size_t count = option_count(opt);
    bool has_input = false, has_witness = false;
    job->witness_command = allocate(count + 1, sizeof *job->witness_command);
    for (size_t i = 0; i < count; i++) {
        const char *text = option_text(opt, i);
        job->witness_command[i] = resolve_argument(place.file, text, i == 0);
        has_input = has_input || strstr(text, "{input}") != NULL;
        has_witness = has_witness || strstr(text, "{witness}") != NULL;
    }
    if (!has_input || !has_witness) {
        report(&place, "witness_command names no %s: the program could not know which file is meant",
               has_input ? "{witness}" : "{input}");
    }
    const char *program = job->witness_command[0];
    if (!program_found(program)) {
        report(&place, "witness_command: %s: %s", program,
               strchr(program, '/') == NULL  ? "no such program in PATH"
               : file_fault(program) != NULL ? file_fault(program)
                                             : "not executable");
    }
}

static void read_job_inputs(struct config_job *job, cfg_t *section)
{
    const cfg_opt_t *witnesses = option(section, "witnesses");
    const cfg_opt_t *inputs = option(section, "inputs");
    const cfg_opt_t *command = option(section, "witness_command");
    const cfg_opt_t *used = option_count(witnesses) > 0 ? witnesses : inputs;
    struct place place = option_place(used);
    job->line = place.line;
    if (option_count(used) == 0) {
        place = section_place(section);
        report(&place, "job %s ends here without witnesses (or inputs and a witness_command)", job->name);
        return;
    }
    if (option_count(witnesses) > 0 && option_count(inputs) > 0) {
        report(&place, "job %s has both witnesses and inputs; make it two jobs", job->name);
    } else if (used == inputs && option_count(command) == 0) {
        report(
            &place,
            "job %s has inputs but no witness_command; files that are witnesses already belong in witnesses",
            job->name);
    } else if (used == witnesses && option_count(command) > 0) {
        place = option_place(command);
        report(&place, "job %s has a witness_command but no inputs for it", job->name);
    }
    read_inputs(job, used);
    if (option_count(command) > 0) {
        read_witness_command(job, command);
    }
}

static void read_job_circuit(struct config_job *job, const struct config *config, cfg_t *section)
{
    const cfg_opt_t *opt = option(section, "circuit");
    const char *name = option_text(opt, 0);
    if (name == NULL) {
        struct place place = section_place(section);
        report(&place, "job %s ends here without a circuit", job->name);
        return;
    }
    for (size_t i = 0; i < config->circuits_count; i++) {
        if (strcmp(config->circuits[i].name, name) == 0) {
            job->circuit = i;
            return;
        }
    }
    struct place place = option_place(opt);
    report(&place, "circuit = \"%s\": there is no such circuit section%s", name, semicolon_hint(name));
}

/* Folders that are missing are made, in the place of nothing else. */
static void check_output(const char *path, const struct place *place)
{
    struct stat status;
    size_t length = existing_length(&status, path);
    if (!S_ISDIR(status.st_mode)) {
        report(place, "output: %.*s: exists and is not a folder", (int)length, path);
        return;
    }
    char *next = duplicate(path);
    size_t slashes = strspn(next + length, "/");
    next[length + slashes + strcspn(next + length + slashes, "/")] = '\0';
    if (strlen(next) > length && lstat(next, &status) == 0 && S_ISLNK(status.st_mode)) {
        report(place, "output: %s: a symbolic link to nothing", next);
    }
    free(next);
}

static void read_job_output(struct config_job *job, cfg_t *section)
{
    const cfg_opt_t *opt = option(section, "output");
    job->output = read_path(section, "output");
    struct place place = option_place(opt);
    if (option_count(opt) == 0) {
        place = section_place(section);
        report(&place, "job %s ends here without an output folder", job->name);
    } else if (job->output != NULL) {
        check_output(job->output, &place);
    }
}

static void read_job(struct config_job *job, const struct config *config, cfg_t *section)
{
    job->name = duplicate(section->title);
    const char *fault = name_fault(job->name);
    if (fault != NULL) {
        struct place place = section_place(section);
        report(&place, "the name of job \"%s\", from which its bundle takes its own, %s", job->name, fault);
    }
    read_job_circuit(job, config, section);
    read_job_inputs(job, section);
    read_job_output(job, section);
    job->bundle = read_boolean(section, "bundle", false);
    job->priority =
        (enum config_priority)read_word(section, "priority", config_priority_names, CONFIG_NORMAL);
    read_duration(&job->deadline_ns, section, "deadline", 1);
    job->witness_timeout_ns = 300 * 1000000000ull;
    read_duration(&job->witness_timeout_ns, section, "witness_timeout", 1);
}

/* ---- Outputs that would overwrite each other ---- */

struct target {
    const char *folder; /* its identity */
    const struct config_job *job;
    const struct config_input *input;
};

static int compare_targets(const void *a, const void *b)
{
    const struct target *x = a, *y = b;
    int order = strcmp(x->folder, y->folder);
    order = order != 0 ? order : strcmp(x->input->stem, y->input->stem);
    order = order != 0 ? order : (x->job > y->job) - (x->job < y->job);
    return order != 0 ? order : (x->input > y->input) - (x->input < y->input);
}

/* An input that is one of the outputs: "out/a.proof.json", matched by out's own "*.json" in a second run. */
static void check_input_is_no_output(const struct target *targets, size_t count, const struct target *at,
                                     const struct place *place)
{
    const char *path = at->input->path;
    for (const char *suffix = ".proof.json"; suffix != NULL;
         suffix = strcmp(suffix, ".proof.json") == 0 ? ".public.json" : NULL) {
        size_t length = strlen(path), tail = strlen(suffix);
        const char *slash = strrchr(path, '/');
        if (length <= tail || strcmp(path + length - tail, suffix) != 0) {
            continue;
        }
        char *folder = slash == NULL ? duplicate(".") : duplicate(path);
        if (slash != NULL) {
            folder[slash == path ? 1 : slash - path] = '\0';
        }
        char *identity = folder_identity(folder);
        char *stem = duplicate(slash == NULL ? path : slash + 1);
        stem[strlen(stem) - tail] = '\0';
        for (size_t low = 0, high = count; low < high;) {
            size_t middle = low + (high - low) / 2;
            int order = strcmp(identity, targets[middle].folder);
            order = order != 0 ? order : strcmp(stem, targets[middle].input->stem);
            if (order == 0) {
                report(place,
                       "%s is what job %s writes for %s; choose another output folder or a narrower pattern",
                       path, targets[middle].job->name, targets[middle].input->path);
                break;
            }
            low = order > 0 ? middle + 1 : low;
            high = order > 0 ? high : middle;
        }
        free(folder);
        free(identity);
        free(stem);
    }
}

static void report_clash(const struct target *before, const struct target *at, const struct place *place)
{
    const char *first = before->job->output, *second = at->job->output;
    bool same = strcmp(first, second) == 0;
    report(place, "%s (job %s) and %s (job %s) would both be written to %s/%s.proof.json%s%s%s",
           before->input->path, before->job->name, at->input->path, at->job->name, second, at->input->stem,
           same ? "" : "; ", same ? "" : first, same ? "" : " is the same folder");
}

static void check_targets(const struct config *config, cfg_t *cfg)
{
    size_t count = 0;
    char **folders = allocate(config->jobs_count, sizeof *folders);
    for (size_t i = 0; i < config->jobs_count; i++) {
        const struct config_job *job = &config->jobs[i];
        folders[i] = job->output == NULL ? NULL : folder_identity(job->output);
        count += job->output == NULL ? 0 : job->inputs_count;
    }
    struct target *targets = allocate(count, sizeof *targets);
    size_t filled = 0;
    for (size_t i = 0; i < config->jobs_count; i++) {
        const struct config_job *job = &config->jobs[i];
        for (size_t k = 0; job->output != NULL && k < job->inputs_count; k++) {
            targets[filled++] = (struct target){folders[i], job, &job->inputs[k]};
        }
    }
    qsort(targets, count, sizeof *targets, compare_targets);
    for (size_t i = 0; i < count; i++) {
        const struct target *at = &targets[i];
        size_t number = (size_t)(at->job - config->jobs);
        cfg_t *section = option(cfg, "job")->values[number]->section;
        struct place place = option_place(option(section, "output"));
        const struct target *before = i == 0 ? NULL : &targets[i - 1];
        if (before != NULL && strcmp(before->folder, at->folder) == 0 &&
            strcmp(before->input->stem, at->input->stem) == 0) {
            report_clash(before, at, &place);
        }
        check_input_is_no_output(targets, count, at, &place);
    }
    for (size_t i = 0; i < config->jobs_count; i++) {
        free(folders[i]);
    }
    free(folders);
    free(targets);
}

/* ---- Devices and host ---- */

static bool device_parse(struct config_device *device, const char *text)
{
    uint64_t index = 0;
    if (strncmp(text, "cuda:", 5) == 0 && number_parse(&index, text + 5) && index < 1024) {
        *device = (struct config_device){CONFIG_DEVICE_CUDA, (unsigned)index};
        return true;
    }
    if (strcmp(text, "cpu") == 0 || strcmp(text, "sim") == 0) {
        *device = (struct config_device){text[0] == 'c' ? CONFIG_DEVICE_CPU : CONFIG_DEVICE_SIM, 0};
        return true;
    }
    return false;
}

static void read_devices(struct config *config, cfg_t *cfg)
{
    const cfg_opt_t *opt = option(cfg, "devices");
    size_t count = option_count(opt);
    struct place place = option_place(opt);
    if (count == 0 || (count == 1 && strcmp(option_text(opt, 0), "auto") == 0)) {
        return;
    }
    config->devices = allocate(count, sizeof *config->devices);
    for (size_t i = 0; i < count; i++) {
        const char *text = option_text(opt, i);
        struct config_device *device = &config->devices[config->devices_count];
        if (!device_parse(device, text)) {
            report(&place, "devices: \"%s\": expected %scpu, cuda:N or sim%s", text,
                   strcmp(text, "auto") == 0 ? "auto alone, or " : "auto, ", semicolon_hint(text));
            continue;
        }
        config->devices_count++;
        for (size_t k = 0; k + 1 < config->devices_count; k++) {
            if (config->devices[k].kind == device->kind && config->devices[k].index == device->index) {
                report(&place, "devices: %s is named twice", text);
            }
        }
        if ((config->devices[0].kind == CONFIG_DEVICE_SIM) != (device->kind == CONFIG_DEVICE_SIM)) {
            report(&place, "devices: sim proves nothing, so it cannot share a run with devices that do");
        }
    }
}

static void read_sim(struct config_sim *sim, cfg_t *cfg)
{
    static const uint64_t defaults_ms[CONFIG_SIM_STAGES] = {2, 5, 20, 60, 1};
    for (size_t i = 0; i < CONFIG_SIM_STAGES; i++) {
        sim->stage_ns[i] = defaults_ms[i] * 1000000;
    }
    uint64_t spread = 10;
    sim->seed = 1;
    const cfg_opt_t *opt = option(cfg, "device");
    for (size_t i = 0; i < option_count(opt); i++) {
        cfg_t *section = opt->values[i]->section;
        if (strcmp(section->title, "sim") != 0) {
            struct place place = section_place(section);
            report(&place, "device %s: only the simulated device has settings: device sim { ... }",
                   section->title);
            continue;
        }
        for (size_t k = 0; k < CONFIG_SIM_STAGES; k++) {
            read_duration(&sim->stage_ns[k], section, config_sim_stage_names[k], 0);
        }
        read_number(&spread, section, "spread", 0, 100);
        read_number(&sim->seed, section, "seed", 0, UINT64_MAX);
    }
    sim->spread_percent = (unsigned)spread;
}

static void read_host(struct config *config, cfg_t *cfg)
{
    cfg_t *memory = option(cfg, "memory")->values[0]->section;
    cfg_t *trim = option(cfg, "trim")->values[0]->section;
    read_count(&config->lanes_per_device, cfg, "lanes_per_device", 64);
    read_count(&config->threads, cfg, "threads", 1024);
    read_count(&config->lookahead, cfg, "lookahead", 4096);
    config->memory_safety_margin = 1ull << 30;
    read_size(&config->memory_budget, memory, "budget", true);
    read_size(&config->memory_safety_margin, memory, "safety_margin", false);
    config->trim_policy =
        (enum config_trim_policy)read_word(trim, "policy", config_trim_names, CONFIG_TRIM_TIMER);
    config->trim_interval_ns = 500000000;
    read_duration(&config->trim_interval_ns, trim, "interval", 1000000);
    config->trim_min_freed = 64ull << 20;
    read_size(&config->trim_min_freed, trim, "min_freed", false);
    config->allocator_set = option_count(option(cfg, "allocator")) > 0;
    config->allocator =
        (enum config_allocator)read_word(cfg, "allocator", config_allocator_names, CONFIG_GLIBC);
    config->buffers_heap = read_word(cfg, "buffers", config_buffers_names, 0) == 1;
    config->trace = read_path(cfg, "trace");
    config->timeline_ns = 200000000;
    read_duration(&config->timeline_ns, cfg, "timeline", 1000000);
    config->self_check = read_boolean(cfg, "self_check", true);
}

/* ---- The whole ---- */

static void read_sections(struct config *config, cfg_t *cfg)
{
    const cfg_opt_t *circuits = option(cfg, "circuit");
    const cfg_opt_t *jobs = option(cfg, "job");
    config->circuits = allocate(option_count(circuits), sizeof *config->circuits);
    for (size_t i = 0; i < option_count(circuits); i++) {
        read_circuit(&config->circuits[config->circuits_count++], circuits->values[i]->section);
    }
    config->jobs = allocate(option_count(jobs), sizeof *config->jobs);
    for (size_t i = 0; i < option_count(jobs); i++) {
        read_job(&config->jobs[config->jobs_count++], config, jobs->values[i]->section);
    }
    if (config->jobs_count == 0) {
        struct place place = {cfg, active->files[0], 0};
        report(&place, "no job section, so there is nothing to prove");
    }
    check_targets(config, cfg);
    read_devices(config, cfg);
    read_sim(&config->sim, cfg);
    read_host(config, cfg);
}

enum error_code config_read(struct config *config, const char *path, struct error *error)
{
    CHECK(config != NULL && path != NULL && error != NULL);
    struct reader reader = {.error = error, .files_count = 1};
    *config = (struct config){0};
    *error = (struct error){0};
    reader.files[0] = duplicate(path);
    active = &reader;
    cfg_t *cfg = parser_make();
    if (cfg == NULL) {
        out_of_memory();
    }
    if (parse_files(cfg) == ERROR_NONE) {
        config->path = duplicate(path);
        read_sections(config, cfg);
    }
    cfg_free(cfg);
    active = NULL;
    free(reader.places);
    for (size_t i = 0; i < reader.files_count; i++) {
        free(reader.files[i]);
    }
    if (error->code != ERROR_NONE) {
        config_free(config);
    }
    return error->code;
}

static void free_job(struct config_job *job)
{
    for (size_t i = 0; i < job->inputs_count; i++) {
        free(job->inputs[i].path);
        free(job->inputs[i].stem);
    }
    for (char **argument = job->witness_command; argument != NULL && *argument != NULL; argument++) {
        free(*argument);
    }
    free(job->inputs);
    free(job->witness_command);
    free(job->output);
    free(job->name);
}

void config_free(struct config *config)
{
    for (size_t i = 0; i < config->circuits_count; i++) {
        free(config->circuits[i].name);
        free(config->circuits[i].zkey);
    }
    for (size_t i = 0; i < config->jobs_count; i++) {
        free_job(&config->jobs[i]);
    }
    free(config->circuits);
    free(config->jobs);
    free(config->devices);
    free(config->trace);
    free(config->path);
    *config = (struct config){0};
}
