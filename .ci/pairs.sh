# What the checks of our load generator have in common; to be sourced. A cell is measured in turns of neighbours, theirs
# and ours, and judged by the medians of the ratios of neighbours. On a shared host single runs move by a tenth, so a
# cell that misses after $turns turns is measured on, up to $most_turns in all, and judged by all of them.
#
# Where their generator is not at its own ceiling, throughput must agree within 5 % and median response time within 10
# %. The median is that of our generator when it spends as much CPU time on a request as theirs: a saturated server
# takes requests in groups, and how they form depends on how fast the client is. The mean does not, and is printed;
# redis-benchmark's leaves out the time between reading replies and writing the next requests, of which our response
# time has more.
# It is at its ceiling where it is busy (95 % or more of its CPU), or where a server that does nothing makes it no faster
# (by a tenth or less). Then what it reports is its own speed, and the server's CPU time per request must agree within
# 5 %, measured again with our generator held to the rate of each of its runs (within 2 %, or the turn does not count).

calc() { awk "BEGIN {printf \"%.${2:-3}f\", $1}"; }
holds() { awk "BEGIN {exit !($1)}"; }
within() { holds "$1 >= 1 - $2 && $1 <= 1 + $2"; } # ratio share
median() { printf '%s\n' "$@" | sort -g | awk '{v[NR] = $1} END {print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
field() { sed "s/.*\"$1\":\([0-9.]*\).*/\1/" <<<"$2"; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
end() { [ -z "$1" ] || { kill "$1" 2>/dev/null; wait "$1" 2>/dev/null; } || true; }
# Of a process and its children: nginx works in one.
cpu_ns() {
  local one
  for one in "$1" $(cat /proc/"$1"/task/*/children); do cat /proc/"$one"/task/*/schedstat; done | awk '{sum += $1} END {printf "%.0f", sum}'
}
two_cpus() { taskset -c 1 true 2>/dev/null || { echo "$1: two CPUs are needed" >&2; exit 1; }; }

# `theirs` and `ours`, of the script that sources this, take the same arguments, ours flags of bench-runner load after
# them. Both set rate, mean and p50 (µs), busy (share of the client's CPU) and cpu (of the server, ns per request). Theirs
# also sets client_cpu (ns per request), leaves mean empty where what it prints is none, and may add to `ceiling` its rate
# as a share of what it reaches against a server that does nothing.
turn() {
  theirs "$@"
  local one_rate=$rate one_mean=$mean one_p50=$p50 one_cpu=$cpu
  their_rate+=("$rate") their_p50+=("$p50") their_busy+=("$busy")
  ours "$@"
  our_rate+=("$rate") our_p50+=("$p50") our_busy+=("$busy")
  rates+=("$(calc "$rate / $one_rate")")
  [ -z "$one_mean" ] || means+=("$(calc "$mean / $one_mean")")
  if at_ceiling; then
    # A server that is saturated by both is asked at one rate already.
    within "$(calc "$rate / $one_rate")" 0.02 || ours "$@" --rate "$one_rate"
    if within "$(calc "$rate / $one_rate")" 0.02; then cpu_ratio+=("$(calc "$cpu / $one_cpu")"); fi
  else
    ours "$@" --client-cpu-ns "$client_cpu"
    medians+=("$(calc "$p50 / $one_p50")")
  fi
}
at_ceiling() { holds "$(median "${their_busy[@]}") >= 0.95 || $(median "${ceiling[@]:-0}") >= 0.90"; }

judge() { # sets verdict; false where a bound is missed
  verdict="busy $(calc "$(median "${their_busy[@]}") * 100" 0)%"
  [ ${#ceiling[@]} -eq 0 ] || verdict+=", at $(calc "$(median "${ceiling[@]}") * 100" 0)% of its ceiling"
  if at_ceiling; then
    verdict+=": server CPU at equal rate $(median "${cpu_ratio[@]:-0}") (0.95-1.05) in ${#cpu_ratio[@]}"
    ((${#cpu_ratio[@]} >= (turns + 1) / 2)) && within "$(median "${cpu_ratio[@]}")" 0.05
  else
    verdict+=": rate $(median "${rates[@]}") (0.95-1.05)"
    [ ${#means[@]} -eq 0 ] || verdict+=", mean $(median "${means[@]}")"
    verdict+=", p50 of a client as slow $(median "${medians[@]:-0}") (0.90-1.10)"
    ((${#medians[@]} >= (turns + 1) / 2)) && within "$(median "${rates[@]}")" 0.05 &&
      within "$(median "${medians[@]}")" 0.10
  fi
}

heading() { printf '%-26s %9s %7s  %9s %7s %5s  %s\n' cell theirs/s 'p50 µs' ours/s 'p50 µs' busy 'theirs, agreement'; }
cell() { # label, what theirs and ours take; sets failed
  local taken verdict= label=$1 ceiling=() cpu_ratio=() rates=() means=() medians=()
  local their_rate=() their_p50=() their_busy=() our_rate=() our_p50=() our_busy=()
  shift
  for ((taken = 1; taken <= most_turns; taken++)); do
    turn "$@"
    if ((taken >= turns)) && judge; then break; fi
  done
  judge || { verdict+=" MISSED"; failed=1; }
  printf '%-26s %9.0f %7.0f  %9.0f %7.0f %4.0f%%  %s, %s turns\n' "$label" "$(median "${their_rate[@]}")" "$(median "${their_p50[@]}")" \
    "$(median "${our_rate[@]}")" "$(median "${our_p50[@]}")" "$(calc "$(median "${our_busy[@]}") * 100")" "$verdict" "${#rates[@]}"
}
