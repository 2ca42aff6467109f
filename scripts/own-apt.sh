# shellcheck shell=sh
# An apt with lists of its own: `own_apt FOLDER deb|deb-src OPTION...` has them read into the folder, of the release that runs here, and `apt` uses them.
own_apt() {
    own=$1
    kind=$2
    shift 2
    own_options=$*
    mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
    : >"$own/status"
    # shellcheck disable=SC2016 # names that apt replaces
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u | sed "s/^/$kind /" >"$own/sources.list"
    # A mirror of which one list cannot be read may have all that is wanted.
    (apt update) 2>/dev/null || true
}
apt() {
    # shellcheck disable=SC2086 # a list of words
    apt-get -q -o Dir::Etc::sourcelist="$own/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$own/lists" \
        -o Dir::Cache="$own/cache" -o Dir::State::status="$own/status" -o APT::Sandbox::User=root $own_options "$@" >"$own/log" 2>&1 ||
        { cat "$own/log" >&2; echo "$0: apt-get $* failed" >&2; exit 1; }
}
