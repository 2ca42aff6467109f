. "$CASES/../fixture.sh"
printf "# ours\n\nleak:^Cache::\nleak:/libwork.so$\n" > rules
mtrace-query leaks run.db --suppressions rules
