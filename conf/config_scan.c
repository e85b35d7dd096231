#include "conf/config_scan.h"

#include "conf/check.h"

#include <stdbool.h>
#include <string.h>

enum { DEPTH_MAX = 8 }; /* sections and lists nest twice in a right file */

struct scan {
    char *text;
    size_t length, at;
    int line;
    int open_lines[DEPTH_MAX]; /* where each open brace stands */
    size_t depth;
};

static char peek(const struct scan *scan, size_t ahead)
{
    return ahead < scan->length - scan->at ? scan->text[scan->at + ahead] : '\0';
}

static void advance(struct scan *scan)
{
    CHECK(scan->at < scan->length);
    scan->line += scan->text[scan->at++] == '\n';
}

static void blank(struct scan *scan)
{
    bool newline = scan->text[scan->at] == '\n';
    scan->text[scan->at] = newline ? '\n' : ' ';
    advance(scan);
}

/* A quoted string from its first to its last quote; false: it doesn't end. */
static bool skip_string(struct scan *scan)
{
    char quote = peek(scan, 0);
    advance(scan);
    while (scan->at < scan->length && peek(scan, 0) != quote) {
        if (peek(scan, 0) == '\\' && scan->length - scan->at > 1) {
            advance(scan);
        }
        advance(scan);
    }
    if (scan->at == scan->length) {
        return false;
    }
    advance(scan);
    return true;
}

static void blank_line_comment(struct scan *scan)
{
    while (scan->at < scan->length && peek(scan, 0) != '\n') {
        blank(scan);
    }
}

static bool blank_block_comment(struct scan *scan)
{
    blank(scan);
    blank(scan);
    while (scan->at < scan->length && !(peek(scan, 0) == '*' && peek(scan, 1) == '/')) {
        blank(scan);
    }
    if (scan->at == scan->length) {
        return false;
    }
    blank(scan);
    blank(scan);
    return true;
}

static const char *scan_one(struct scan *scan, int *line)
{
    char c = peek(scan, 0);
    *line = scan->line;
    if (c == '"' || c == '\'') {
        return skip_string(scan) ? NULL : "a string that begins here has no closing quote";
    }
    if (c == '#' || (c == '/' && peek(scan, 1) == '/')) {
        blank_line_comment(scan);
        return NULL;
    }
    if (c == '/' && peek(scan, 1) == '*') {
        return blank_block_comment(scan) ? NULL : "a comment that begins here has no end";
    }
    if (c == '*' || (c == '+' && peek(scan, 1) != '=')) {
        return c == '*' ? "put text with a * in it in quotes" : "put text with a + in it in quotes";
    }
    if (c == '{') {
        if (scan->depth == DEPTH_MAX) {
            return "braces are nested too deeply";
        }
        scan->open_lines[scan->depth++] = scan->line;
    } else if (c == '}') {
        if (scan->depth == 0) {
            return "a closing brace without an opening one";
        }
        scan->depth--;
    }
    advance(scan);
    return NULL;
}

const char *config_scan(char *text, size_t length, int *line)
{
    struct scan scan = {.text = text, .length = length, .line = 1};
    *line = 1;
    if (memchr(text, '\0', length) != NULL) {
        return "has zero bytes in it, so it isn't a configuration";
    }
    while (scan.at < scan.length) {
        const char *fault = scan_one(&scan, line);
        if (fault != NULL) {
            return fault;
        }
    }
    if (scan.depth > 0) {
        *line = scan.open_lines[scan.depth - 1];
        return "an opening brace without a closing one";
    }
    return NULL;
}
