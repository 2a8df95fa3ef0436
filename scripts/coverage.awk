# Reads lcov. Prints the files with most lines that no test has run, and the percentage of each crate. Fails below `goal`.

# Returns the number of the line where a file's tests begin.
function tests_of(file,    line, number, is_test) {
  while ((getline line < file) > 0) {
    number++
    if (is_test && line ~ /^mod tests/) break
    is_test = line ~ /^#\[cfg\(test\)\]/
  }
  close(file)
  return number
}

/^SF:/ {
  file = substr($0, 4)
  name = substr(file, length(root) + 1)
  is_counted = name ~ /^(shared|biolink)\/src\// && name !~ /\/tests(\.rs$|\/)/
  crate = substr(name, 1, index(name, "/") - 1)
  if (is_counted) tests = tests_of(file)
}

/^DA:/ && is_counted {
  split(substr($0, 4), at, ",")
  if (at[1] >= tests) next
  all[crate]++
  if (at[2] == 0) { open[crate]++; lines[name]++ }
}

END {
  for (name in lines) printf "%6d  %s\n", lines[name], name | "sort -rn | head -20"
  close("sort -rn | head -20")
  for (crate in all) {
    percent = 100 * (all[crate] - open[crate]) / all[crate]
    printf "%.2f %% of %d lines of %s\n", percent, all[crate], crate
    if (percent < goal) is_below = 1
  }
  exit is_below
}
