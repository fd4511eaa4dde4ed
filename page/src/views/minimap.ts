import { ALL, boxesBelow, type Box, type Part } from "../data/boxes";
import type { SampleTree } from "../data/sample_tree";
import type { Colour } from "../data/doing";
import { h, isShortcut } from "../parts/dom";
import { percent } from "../parts/numbers";
import { BOX_HEIGHT, colour } from "./flame_graph";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 56; // pixels
const CLICK = 3; // pixels: what moves less is no drag
const REDRAWN_MS = 100; // while one drags: browsers allow 20 addresses a second
const STEP = 0.1; // of what is seen: an arrow key
const CLOSEST = 1e-4; // of all

interface Options {
  tree: SampleTree;
  width: number;
  icicle: boolean;
  search: RegExp | null;
}

/** All of the graph, small, with a frame around what is seen of it: it can be moved and drawn anew. */
export class Minimap {
  readonly element: HTMLElement;
  private readonly seen = h("div", { class: "seen" });
  readonly colours = new Set<Colour>(); // of the boxes
  private readonly levels: number;
  private first = 0; // level of the graph: that of the frame that is zoomed to
  private part: Part = ALL;
  private graph: HTMLElement | null = null;
  private timer = 0;
  private changed: (part: Part) => void = () => {};

  private constructor(private readonly options: Options) {
    const { tree, width, icicle } = options;
    const paths = new Map<string, string[]>();
    let levels = 0;
    const root = boxesBelow(tree, 0, width);
    const draw = (box: Box, level: number) => {
      levels = Math.max(levels, level + 1);
      const fill = colour(box.node, options);
      if (level > 0) this.colours.add(tree.colour(box.node));
      if (!paths.has(fill)) paths.set(fill, []);
      const [left, right] = [box.start, box.start + box.value].map((amount) => ((amount / (root.value || 1)) * width).toFixed(2)); // larger numbers than an SVG's
      paths.get(fill)!.push(`M${left} ${level}H${right}v1H${left}z`);
      for (const child of box.children) draw(child, level + 1);
    };
    draw(root, 0);
    this.levels = levels;
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 ${icicle ? 0 : -levels} ${width} ${levels}`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    for (const [fill, pieces] of paths) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("fill", fill);
      path.setAttribute("d", pieces.join(""));
      if (!icicle) path.setAttribute("transform", "scale(1 -1)"); // the root is below
      svg.append(path);
    }
    this.element = h("div", { class: "minimap", role: "slider", tabindex: 0, "aria-label": "Overview: the part of the graph that is shown",
      "aria-valuemin": 0, "aria-valuemax": 100,
      title: "Drag the frame to move it, or drag beside it to draw another one. Keys: arrows move, + and - narrow and widen, Escape shows all" }, svg, this.seen);
    this.element.style.height = `${HEIGHT}px`;
    this.element.addEventListener("pointerdown", (event) => this.drag(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  private static last: Minimap | null = null;

  /** The same one as before where it would look the same. */
  static of(options: Options): Minimap {
    const before = this.last?.options;
    const same = before && before.tree === options.tree && before.width === options.width && before.icicle === options.icicle && before.search?.source === options.search?.source;
    return same ? this.last! : (this.last = new Minimap(options));
  }

  /** The tree that was drawn last is not shown any more. */
  static forget(): void {
    this.last = null;
  }

  /** @param graph what shows the part from that level on, and scrolls */
  show(part: Part, level: number, graph: HTMLElement, changed: (part: Part) => void): void {
    this.graph = graph;
    this.first = level;
    this.changed = changed;
    this.mark(part);
    graph.addEventListener("scroll", () => this.mark(this.part));
  }

  private mark(part: Part): void {
    this.part = part;
    const [from, to] = part;
    const [top, bottom] = this.rows();
    const { style } = this.seen;
    [style.left, style.width] = [`${from * 100}%`, `${(to - from) * 100}%`];
    [style.top, style.height] = [`${top * 100}%`, `${(bottom - top) * 100}%`];
    this.element.ariaValueNow = String(Math.round(from * 100));
    this.element.ariaValueText = `${percent(from, 1)} to ${percent(to, 1)} of the width`;
  }

  /** What is seen from above to below, as shares of all levels. */
  private rows(): Part {
    const { graph, first, levels, options: { icicle } } = this;
    const scrolls = graph && graph.scrollHeight > graph.clientHeight;
    if (!scrolls && first === 0) return ALL;
    const away = !scrolls ? 0 : icicle ? graph.scrollTop : graph.scrollHeight - graph.scrollTop - graph.clientHeight; // from the graph's root
    const [near, far] = [away, scrolls ? away + graph.clientHeight : Infinity].map((pixels) => Math.min(Math.max((pixels / BOX_HEIGHT + first) / levels, 0), 1));
    return icicle ? [near, far] : [1 - far, 1 - near];
  }

  private drag(event: PointerEvent): void {
    if (event.button !== 0) return;
    event.preventDefault(); // no selection of text
    this.element.focus();
    const place = this.element.getBoundingClientRect();
    const [before, scrolled] = [this.part, this.graph?.scrollTop ?? 0];
    const moves = event.target === this.seen && (before[1] - before[0] < 1 - CLOSEST || this.rows() !== ALL); // else it would go nowhere
    const share = (x: number) => Math.min(Math.max((x - place.left) / place.width, 0), 1);
    const move = (now: PointerEvent) => {
      const [across, down] = [now.clientX - event.clientX, now.clientY - event.clientY];
      if (moves) {
        if (this.graph) this.graph.scrollTop = scrolled + (down / place.height) * this.levels * BOX_HEIGHT;
        this.go(shifted(before, across / place.width));
      } else if (Math.abs(across) > CLICK) this.go(drawn(share(event.clientX), share(now.clientX)));
    };
    const end = (now: PointerEvent) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      if (!moves && Math.abs(now.clientX - event.clientX) <= CLICK) this.go(shifted(before, share(now.clientX) - (before[0] + before[1]) / 2));
      this.tell();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }

  /** The frame at once, the graph as often as it may. */
  private go(part: Part): void {
    if (part[0] === this.part[0] && part[1] === this.part[1]) return;
    this.mark(part);
    this.timer ||= window.setTimeout(() => this.tell(), REDRAWN_MS);
  }

  private tell(): void {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.changed(this.part);
  }

  private key(event: KeyboardEvent): void {
    if (isShortcut(event)) return;
    const [from, to] = this.part;
    const step = (to - from) * STEP;
    const parts: Record<string, Part> = {
      ArrowLeft: shifted(this.part, -step), ArrowRight: shifted(this.part, step), Home: shifted(this.part, -1), End: shifted(this.part, 1),
      "+": resized(this.part, 0.5), "-": resized(this.part, 2), Escape: ALL,
    };
    if (event.key in parts) {
      this.go(parts[event.key]);
      this.tell();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") this.graph?.scrollBy(0, event.key === "ArrowUp" ? -BOX_HEIGHT : BOX_HEIGHT);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function shifted([from, to]: Part, by: number): Part {
  const start = Math.min(Math.max(from + by, 0), 1 - (to - from));
  return [start, start + to - from];
}

function resized([from, to]: Part, by: number): Part {
  const width = Math.min(Math.max((to - from) * by, CLOSEST), 1);
  const middle = (from + to) / 2;
  return shifted([middle - width / 2, middle + width / 2], 0);
}

function drawn(one: number, other: number): Part {
  const [from, to] = [Math.min(one, other), Math.max(one, other)];
  return to - from < CLOSEST ? shifted([from, from + CLOSEST], 0) : [from, to];
}
