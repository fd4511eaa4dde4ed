# frozen_string_literal: true

require "cgi/escape"

# A line for each series over a common x axis, as an SVG that reads on light and dark pages.
class SvgPlot
  WIDTH = 720
  HEIGHT = 360
  LEFT = 70
  RIGHT = 200
  TOP = 44
  BOTTOM = 48
  COLOURS = %w[#2f6fde #d9483b #2a9d57 #c98a12 #8a55c9 #1f9aa8 #8a8f98].freeze

  # @param series [Hash{String => Array<Array(Numeric, Numeric)>}] points by the name in the legend
  # @param log_x [Boolean] for x values that double; all must be above 0
  def initialize(title:, x_label:, y_label:, series:, log_x: false)
    @title = title
    @x_label = x_label
    @y_label = y_label
    @series = series
    @log_x = log_x
    @xs = series.values.flatten(1).map(&:first).uniq.sort
    @top = nice(series.values.flatten(1).map(&:last).max.to_f)
  end

  def to_s
    <<~SVG
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{WIDTH} #{HEIGHT}" font-family="sans-serif" font-size="12">
      <rect width="#{WIDTH}" height="#{HEIGHT}" fill="#ffffff"/>
      #{text(LEFT, 20, @title, size: 15)}
      #{grid}
      #{text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, @x_label, anchor: "middle")}
      <g transform="rotate(-90 16 #{middle})">#{text(16, middle, @y_label, anchor: "middle")}</g>
      #{@series.each_with_index.map { |(name, points), at| line(name, points, at) }.join("\n")}
      </svg>
    SVG
  end

  private

  def middle = (TOP + HEIGHT - BOTTOM) / 2

  def grid
    levels = (0..4).map { |quarter| @top * quarter / 4 }.map do |value|
      %(<path d="M#{LEFT} #{y(value)}H#{WIDTH - RIGHT}" stroke="#dddddd"/>) + text(LEFT - 8, y(value) + 4, short(value), anchor: "end")
    end
    marks = @xs.map { |value| text(x(value), HEIGHT - BOTTOM + 18, short(value), anchor: "middle") }
    (levels + marks).join("\n")
  end

  def line(name, points, at)
    colour = COLOURS[at % COLOURS.size]
    places = points.map { |value, height| [x(value), y(height)] }
    dots = places.map { |left, top| %(<circle cx="#{left}" cy="#{top}" r="3" fill="#{colour}"/>) }.join
    legend = TOP + (at * 20)
    %(<polyline fill="none" stroke="#{colour}" stroke-width="2" points="#{places.map { |place| place.join(",") }.join(" ")}"/>) +
      dots + %(<path d="M#{WIDTH - RIGHT + 16} #{legend}h18" stroke="#{colour}" stroke-width="3"/>) +
      text(WIDTH - RIGHT + 40, legend + 4, name)
  end

  def x(value)
    low, high = @xs.minmax.map { |edge| scale(edge) }
    share = high > low ? (scale(value) - low) / (high - low) : 0.5
    (LEFT + (share * (WIDTH - RIGHT - LEFT))).round(1)
  end

  def scale(value) = @log_x ? Math.log2(value) : value.to_f
  def y(value) = (HEIGHT - BOTTOM - ([value, 0].max / @top * (HEIGHT - BOTTOM - TOP))).round(1)

  # The next of 1, 2, 2.5, 5 times a power of ten.
  def nice(value)
    return 1.0 unless value.positive?

    power = 10.0**Math.log10(value).floor
    [1, 2, 2.5, 5, 10].map { |step| step * power }.find { |step| step >= value }
  end

  def short(value) = format("%.4g", value)

  def text(left, top, string, anchor: "start", size: 12)
    %(<text x="#{left}" y="#{top}" text-anchor="#{anchor}" font-size="#{size}" fill="#333333">#{CGI.escapeHTML(string)}</text>)
  end
end
