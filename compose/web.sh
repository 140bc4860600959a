# shellcheck shell=bash
# The dashboard's pages and assets. Sourced after common.sh.

# The Debian packages that build_web copies from.
# shellcheck disable=SC2034
web_packages=(bootstrap-icons esbuild libjs-dygraphs libjs-leaflet)

# build_web FOLDER: replaces FOLDER by pages and assets, with a gzipped copy of each, and `version`, a checksum of them all
# that is part of the assets' addresses.
build_web() {
    local new=$1.new leaflet=/usr/share/javascript/leaflet file
    rm -rf "$new"
    mkdir -p "$new/leaflet"
    cp -R Services/Dashboard/Web/. "$new"
    rm -rf "$new"/{package.json,icons.txt,modules}
    bundle "$new"
    cp -L "$leaflet/leaflet.esm.min.js" "$new/leaflet/leaflet.js"
    # No map of the sources is installed.
    sed -i '/^\/\/# sourceMappingURL=/d' "$new/leaflet/leaflet.js"
    cp -L "$leaflet/leaflet.css" "$new/leaflet"
    cp -RL "$leaflet/images" "$new/leaflet"
    mkdir "$new/dygraphs"
    dygraphs_module >"$new/dygraphs/dygraphs.js"
    if [[ -e Services/Dashboard/Web/icons.txt ]]; then collect_icons >"$new/icons.svg"; fi
    for file in "$new"/pages/*.html; do
        [[ $file == */frame.html ]] && continue
        frame "$new/pages/frame.html" "$file" >"$new/page"
        # The way back, from all pages but Home.
        [[ $file == */home.html ]] || sed -i 's/icons\.svg#activity/icons.svg#arrow-left/' "$new/page"
        mv "$new/page" "$file"
    done
    rm "$new/pages/frame.html"
    inline "$new"
    assets_of "$new" | LC_ALL=C sort | (cd "$new" && xargs sha256sum) | sha256sum | cut -c 1-16 >"$new/version"
    sed -i "s|{{assets}}|/assets/$(<"$new/version")|g" "$new"/pages/*.html "$new/modules/service-worker.js"
    for file in $(assets_of "$new"); do
        case $file in *.png) ;; *) gzip -9nk "$new/$file" ;; esac
    done
    chmod -R u=rwX,go=rX "$new"
    rm -rf "$1"
    mv "$new" "$1"
}

# bundle FOLDER: writes the style sheets, and one module for each page with all that it imports: a page then waits for one
# request, and not for one after another. The modules that other people's pages load stay apart. Leaflet does too: only maps
# need it.
bundle() {
    local web=Services/Dashboard/Web entries
    local modules=$web/modules options=(--minify --charset=utf8 --log-level=warning "--outbase=$web" "--outdir=$1")
    # Of pages and workers.
    mapfile -t entries < <(grep -rhoE '/modules/[a-z-]+\.js"></script>|Worker\(new URL\("\./[a-z-]+\.js' "$web"/{pages,modules} |
        grep -oE '[a-z-]+\.js' | sort -u)
    esbuild "${entries[@]/#/$modules/}" --bundle --format=esm '--external:*/leaflet.js' '--external:*/dygraphs.js' "${options[@]}"
    esbuild "$modules"/{bus,mqtt,requests,service-worker,stream}.js "$web"/*.css "${options[@]}"
}

# dygraphs_module: prints dygraphs, which is written for CommonJS, as a module. No map of the sources is installed.
dygraphs_module() {
    say 'const exports = {}, module = {exports};'
    sed '/^\/\/# sourceMappingURL=/d' /usr/share/javascript/dygraphs/dygraph.min.js
    say 'export default module.exports.default ?? module.exports;'
}

# frame FRAME PAGE: prints a page in its frame: what it has before its line `<!-- main -->` goes into the head. A whole page
# stays as it is.
frame() {
    grep -q '^<!-- main -->$' "$2" || { cat "$2" && return; }
    sed -n '1,/^<!-- head -->$/p' "$1" | sed '$d'
    sed '/^<!-- main -->$/,$d' "$2"
    sed -n '/^<!-- head -->$/,/^<!-- main -->$/p' "$1" | sed '1d;$d'
    sed '1,/^<!-- main -->$/d' "$2"
    sed '1,/^<!-- main -->$/d' "$1"
}

# inline FOLDER: moves into the pages what their first paint waits for, their style sheets and the script of the theme, so that
# it comes with the page. Writes `inline`, which names them in the policy of the pages.
inline() {
    local file tag hashes=()
    for file in "$1"/*.css "$1/modules/theme.js"; do
        if [[ $file == *.css ]]; then tag=style; else tag=script; fi
        sed -i -e "/^<.*[/]${file##*/}\">/{" -e "s|.*|<$tag>|" -e "r $file" -e "a </$tag>" -e '}' "$1"/pages/*.html
        hashes+=("'sha256-$({ echo && cat "$file"; } | openssl dgst -sha256 -binary | base64)'")
        rm "$file"
    done
    say "${hashes[*]}" >"$1/inline"
}

# assets_of FOLDER: prints the paths of pages and of what they load.
assets_of() { (cd "$1" && find . -type f ! -name version ! -name inline -printf '%P\n'); }

# collect_icons: prints one image with a symbol for each icon that icons.txt names.
collect_icons() {
    local name icons=/usr/share/bootstrap-icons/svg
    say '<svg xmlns="http://www.w3.org/2000/svg">'
    while read -r name; do
        [[ -r $icons/$name.svg ]] || fail "Services/Dashboard/Web/icons.txt: no icon '$name' in $icons"
        sed -n "s|.*viewBox=\"\([^\"]*\)\".*|<symbol id=\"$name\" viewBox=\"\1\" fill=\"currentColor\">|p" "$icons/$name.svg"
        tr '\n' ' ' <"$icons/$name.svg" | sed -e 's|^<svg[^>]*>||' -e 's|</svg> *$|</symbol>|'
        say ''
    done < <(grep -v '^$' Services/Dashboard/Web/icons.txt)
    say '</svg>'
}
