import type { Live, LiveProcess, Position } from "../sources/source";
import { tagText, type Model } from "../model";
import { h, select } from "./dom";
import { quantity } from "./numbers";
import type { Store } from "./state";

const TOTALS: [string, string][] = [["", "since the start"], ["5", "of the last 5 s"], ["15", "of the last 15 s"], ["60", "of the last minute"]];
const CALLERS_SHOWN = 3;
const QUIET_MS = 2000; // without a window: no thread comes to a safepoint

/** What a page that grows has beside the others: pause, clear, the time that totals are of, and where each thread is. */
export class LiveBar {
  readonly element: HTMLElement;
  private readonly pause = h("button", { id: "pause", "aria-pressed": "false", title: "Hold what is shown, go on (p)", onclick: () => this.turn() }, "Pause");
  private readonly said = h("span", { id: "processes" });
  private readonly body = h("tbody", {});
  private readonly rows = new Map<string, HTMLTableRowElement>();

  constructor(private readonly live: Live, private readonly store: Store) {
    const clear = h("button", { id: "clear", title: "Begin anew (x)", onclick: () => this.clear() }, "Clear");
    const totals = select("Totals", TOTALS, store.state.last, (last) => store.set({ last, range: "" }));
    const threads = h("table", { id: "threads" }, h("caption", {}, live.isTrace ? "Threads, and where each is" : "Threads, and where each was for the most of its last update"),
      h("thead", {}, h("tr", {}, ["Process", "Thread", "State", "Where"].map((text) => h("th", { scope: "col" }, text)))), this.body);
    const warning = live.isTrace && h("p", { class: "warning" },
      "Every call is traced: this slows the processes down several times, for as long as this page is open, also while it is paused.");
    this.element = h("div", { class: "live" }, warning, h("div", { class: "above" }, this.pause, clear, totals, this.said),
      h("details", { open: true }, h("summary", {}, "Threads"), h("div", { class: "threads" }, threads)));
  }

  turn(): void {
    this.live.paused = !this.live.paused;
    this.pause.textContent = this.live.paused ? "Go on" : "Pause";
    this.pause.ariaPressed = String(this.live.paused);
  }

  clear(): void {
    this.live.clear();
  }

  update(model: Model | null): void {
    const lost = this.live.lost > 0 ? [`${this.live.lost} updates were missed`] : [];
    const verb = this.live.isTrace ? "traced" : "recorded";
    setText(this.said, [...this.live.processes.map((process) => processText(process, verb)), ...lost].join("; "));
    const positions = model ? this.live.positions().sort(inOrder) : [];
    const keys = new Set(positions.map(keyOf));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.remove();
      this.rows.delete(key);
    }
    // Rows stay: one that is about to be clicked on must not go away.
    positions.forEach((position, index) => {
      const row = this.rowOf(position);
      if (this.body.rows[index] !== row) this.body.insertBefore(row, this.body.rows[index] ?? null);
      setText(row.cells[1].firstElementChild!, `${position.thread} ${position.name}`.trim());
      setText(row.cells[2], position.state);
      setText(row.cells[3], model ? where(model, position.sample) : "");
    });
  }

  private rowOf(position: Position): HTMLTableRowElement {
    let row = this.rows.get(keyOf(position));
    if (!row) {
      const { pid, thread } = position;
      const only = (...tags: [string, string][]) => this.store.set({ only: tags.map(([key, value]) => tagText(key, value)), zoom: [] }, true);
      row = h("tr", {}, h("td", {}, h("button", { class: "name", title: "Only this process", onclick: () => only(["%pid", pid]) }, pid)),
        h("td", {}, h("button", { class: "name", title: "Only this thread", onclick: () => only(["%pid", pid], ["thread_seq", thread]) })),
        h("td", {}), h("td", {}));
      this.rows.set(keyOf(position), row);
    }
    return row;
  }
}

/** What stays the same stays selected. */
function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function keyOf({ pid, thread }: Position): string {
  return `${pid} ${thread}`;
}

function inOrder(a: Position, b: Position): number {
  return Number(a.pid) - Number(b.pid) || Number(a.thread) - Number(b.thread);
}

/** The innermost method, and some of those that called it. */
function where({ profile }: Model, sample: number): string {
  const { parent, frame } = profile.stacks;
  const names = [];
  let node = profile.sampleNode[sample];
  for (; node > 0 && names.length <= CALLERS_SHOWN; node = parent[node]) names.push(profile.frames[frame[node]].name);
  return names.join(" ← ") + (node > 0 ? " ← …" : "");
}

function processText({ pid, state, why, quiet_ms }: LiveProcess, verb: string): string {
  if (state === "ended") return `process ${pid} is not ${verb} any more: ${why}`;
  if (state === "asked") return `process ${pid}: no thread has come to a safepoint yet`;
  if (quiet_ms !== null && quiet_ms > QUIET_MS) return `process ${pid}: no thread came to a safepoint for ${quantity(quiet_ms * 1e6, "nanoseconds")}`;
  return `process ${pid} is ${verb}`;
}
