declare module "d3-flame-graph" {
  import type { Selection } from "d3-selection";

  interface Placed<Data> {
    data: Data;
    highlight?: boolean;
  }
  interface FlameGraph<Data> {
    (selection: Selection<HTMLDivElement, Data, null, undefined>): FlameGraph<Data>;
    width(pixels: number): FlameGraph<Data>;
    cellHeight(pixels: number): FlameGraph<Data>;
    inverted(inverted: boolean): FlameGraph<Data>;
    transitionDuration(milliseconds: number): FlameGraph<Data>;
    resetHeightOnZoom(reset: boolean): FlameGraph<Data>;
    sort(sort: boolean | ((a: Placed<Data>, b: Placed<Data>) => number)): FlameGraph<Data>;
    label(label: (frame: Placed<Data>) => string): FlameGraph<Data>;
    color(color: (frame: Placed<Data>) => string): FlameGraph<Data>;
    onClick(clicked: (frame: Placed<Data>) => void): FlameGraph<Data>;
    onHover(hovered: (frame: Placed<Data>) => void): FlameGraph<Data>;
    destroy(): FlameGraph<Data>;
  }
  export default function flamegraph<Data>(): FlameGraph<Data>;
}
