# A real run's trace as a page: looked at with a browser, in light and in dark. And as events for Perfetto.
. "$(dirname "$0")/common.sh"
many_witnesses 12
small_conf "many/*.wtns" out
printf 'trace = "run.trace"\ntimeline = 20ms\n' >>batch.conf
expect 0 "$UZK" run batch.conf
said "trace run.trace"
said "none dropped"
expect 0 "$UZK" report run.trace --chrome chrome.json --html run.html
is_file run.html
! grep -qE 'https?://|src=|@import|url\(' run.html || fail "the page needs something else"

if command -v node >/dev/null; then
    node -e '
        const events = JSON.parse(require("fs").readFileSync("chrome.json", "utf8")).traceEvents;
        const of = (phase) => events.filter((event) => event.ph === phase).length;
        if (events.some((event) => typeof event.pid !== "number" || typeof event.ph !== "string")) throw "an event without pid or ph";
        if (events.some((event) => event.ph === "X" && !(event.ts >= 0 && event.dur >= 0))) throw "an event without time";
        if (of("X") < 12 * 5 || of("M") < 2) throw `only ${of("X")} spans, ${of("M")} names`;
    ' || fail "chrome.json is not what Perfetto reads"
fi

command -v chromium >/dev/null || skip "chromium is not installed, so nobody can look at the page"
command -v node >/dev/null || skip "node is not installed, so nobody can look at the picture"
look() { # NAME SCHEME: 0 dark, 1 light
    HOME=$WORK chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$WORK/profile" \
        --window-size=1400,2400 --blink-settings=preferredColorScheme="$2" --screenshot="$WORK/$1.png" "file://$WORK/run.html" \
        >stdout 2>stderr || skip "chromium does not run here"
    is_file "$1.png"
    node "$SOURCE/tests/e2e/png_colours.mjs" "$1.png" >"$1.size" || fail "$1.png is no picture"
    read -r width height colours <"$1.size"
    [ "$width" -eq 1400 ] && [ "$height" -eq 2400 ] || fail "$1.png is $width x $height"
    # Text alone gives some greys; charts and legends have their own colours.
    [ "$colours" -ge 40 ] || fail "$1.png has $colours colours only: the page is blank"
}
look light 1
look dark 0
! cmp -s light.png dark.png || fail "the page looks the same in light and dark"
