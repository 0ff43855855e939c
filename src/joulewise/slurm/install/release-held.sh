#!/bin/sh
# Releases the jobs that Joulewise holds, if it has not been seen for a while. Written by `joulewise slurm install`.
# A timer runs it (joulewise-release.timer), on a host that has Slurm's commands. It needs nothing of Joulewise.
# With --all it releases them whenever it is called: that is the way back.
set -u
HEARTBEAT=@{heartbeat}
PATIENCE_S=@{patience_s}
PATH=@{commands}:$PATH
export LC_ALL=C PATH

seen_s=$(head -c 11 "$HEARTBEAT" 2>/dev/null | sed -n '1{s/[^0-9].*//;s/^0*//;p;}')
age_s=$(($(date +%s) - ${seen_s:-0}))
if [ "${1:-}" != --all ] && [ "$age_s" -le "$PATIENCE_S" ] && [ "$age_s" -ge "-$PATIENCE_S" ]; then
   exit 0
fi

# Nobody but Joulewise writes these three columns, so that no job can look like another.
squeue --noheader --all --array --states=PENDING --Format='JobArrayID:|,Reason:|,admin_comment:|' |
   while IFS='|' read -r job reason comment _; do
      case $comment in
         "joulewise: held by its user"*) continue ;;
         joulewise*) ;;
         *) continue ;;
      esac
      job=${job%%+*} # the parts of a job are released with the first of them
      case $job in
         '' | *[!0-9_]*) continue ;;
      esac
      if [ "$reason" = JobHeldUser ]; then
         scontrol release "$job" </dev/null
      fi
   done
