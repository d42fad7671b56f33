# Draws curves or bars as SVG, for light and dark backgrounds:
#
#   awk -f plot.awk -v title=... -v x=... -v y=... [-v kind=bars] [-v most=N] POINTS >FILE.svg
#
# POINTS: lines "X Y SERIES", the series in the order in which they are to be named; in SERIES _ is a
# blank. x and y name the axes with their units; `most`, where the y axis ends.
BEGIN {
  width = 720; height = 380; left = 72; right = 16; top = 58; bottom = 52
  split("#3b82f6 #e07b00 #12a150 #b45fd6 #d64550 #0f9aa8", colours, " ")
}
NF >= 3 {
  if (!($3 in index_of)) { index_of[$3] = ++series; names[series] = $3; gsub(/_/, " ", names[series]) }
  s = index_of[$3]
  n = ++count[s]; xs[s, n] = $1; ys[s, n] = $2
  if (points++ == 0 || $1 < least_x) least_x = $1
  if (points == 1 || $1 > most_x) most_x = $1
  if ($2 > most_y) most_y = $2
}
# step VALUE: of some five steps to it a round one.
function step(range,   power, part) {
  power = 10 ^ int(log(range / 5) / log(10) + (range < 5 ? -0.999999 : 0))
  part = range / 5 / power
  return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10)
}
function at_x(v) { return left + (v - first_x) / (last_x - first_x) * (width - left - right) }
function at_y(v) { if (v > last_y) v = last_y; return height - bottom - v / last_y * (height - top - bottom) }
function text(px, py, anchor, words) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, words
}
function number(v) { return sprintf("%.6g", v) + 0 }
END {
  if (points == 0) exit 1
  first_x = least_x < 0 ? least_x : 0
  last_x = kind == "bars" ? most_x + bar : most_x
  if (last_x <= first_x) last_x = first_x + 1
  step_x = step(last_x - first_x)
  if (most != "") most_y = most
  if (most_y <= 0) most_y = 1
  step_y = step(most_y)
  last_y = step_y * int((most_y + step_y * 0.999) / step_y)
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n", width, height
  print "<style>text{fill:#57606a}.grid{stroke:#8c959f;stroke-opacity:.35}@media(prefers-color-scheme:dark){text{fill:#adbac7}}</style>"
  printf "<text x=\"%d\" y=\"20\" font-size=\"15\">%s</text>\n", left, title
  for (v = 0; v <= last_y + step_y / 100; v += step_y) {
    printf "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", left, at_y(v), width - right
    text(left - 8, at_y(v) + 4, "end", number(v))
  }
  for (v = first_x < 0 ? step_x * int(first_x / step_x) : 0; v <= last_x + step_x / 100; v += step_x)
    text(at_x(v), height - bottom + 20, "middle", number(v))
  text((left + width - right) / 2, height - 12, "middle", x)
  printf "<text transform=\"translate(18 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n", (top + height - bottom) / 2, y
  place = left
  for (s = 1; s <= series; s++) {
    colour = colours[(s - 1) % 6 + 1]
    if (series > 1) {
      printf "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%d 38h16\"/>\n", colour, place
      text(place + 21, 42, "start", names[s])
      place += 40 + 7 * length(names[s])
    }
    if (kind == "bars") {
      for (n = 1; n <= count[s]; n++)
        printf "<path fill=\"%s\" d=\"M%.1f %.1fH%.1fV%.1fH%.1fz\"/>\n", colour, at_x(xs[s, n]), at_y(0), at_x(xs[s, n] + bar * 0.9), at_y(ys[s, n]), at_x(xs[s, n])
      continue
    }
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colour
    for (n = 1; n <= count[s]; n++) printf "%s%.1f %.1f", n == 1 ? "M" : "L", at_x(xs[s, n]), at_y(ys[s, n])
    print "\"/>"
    if (count[s] <= 12)
      for (n = 1; n <= count[s]; n++)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", at_x(xs[s, n]), at_y(ys[s, n]), colour
  }
  print "</svg>"
}
