. "$CASES/../fixture.sh"
mtrace-query run.db --site 2 --format json
# expect status 2
# expect stderr
#|mtrace-query: 'summary' cannot be restricted by site: it has no call_site_id
#|Try 'mtrace-query --help'.
