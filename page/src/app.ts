import type { Profile } from "./data/profile";
import { takeSnapshot } from "./sources/served";
import { droppedSource } from "./sources/file_source";
import type { Source } from "./sources/source";
import { Model } from "./model";
import { CLEARED, Controls } from "./parts/controls";
import { aboutLine } from "./parts/about";
import { comparedLine } from "./parts/compared";
import { doingLine } from "./parts/doing_bar";
import { h, isShortcut } from "./parts/dom";
import { keysDialog } from "./parts/keys";
import { LiveBar } from "./parts/live_bar";
import { VIEWS, Store, type State, type View } from "./parts/state";
import { Steps } from "./parts/steps";
import { fitIn, scrolledBy } from "./views/flame_graph";
import { Minimap } from "./views/minimap";
import { DRAW, TITLES } from "./views/views";
import type { Place } from "./views/shown";

const THEMES: Record<State["theme"], State["theme"]> = { "": "dark", dark: "light", light: "" };

/** The page: the filters, the views, and the line that says what is under the mouse. */
export class App {
  private readonly store: Store;
  private readonly title = h("h1", {});
  private readonly tabs: HTMLElement;
  private readonly controls = h("div", {});
  private readonly about = h("div", { id: "about", role: "group", "aria-label": "About the profile" });
  private readonly did = h("div", { id: "did" });
  private readonly panel = h("div", { id: "panel", role: "tabpanel" });
  private readonly main = h("main", {}, this.panel);
  private readonly keys = keysDialog();
  private readonly take = h("button", { id: "take", hidden: true, onclick: () => void this.takeSnapshot() }, "Take a snapshot");
  private readonly status = h("div", { class: "status", role: "status" });
  private readonly problems = h("div", { class: "problems", role: "alert" });
  private model: Model | null = null;
  private filters: Controls | null = null;
  private steps: Steps | null = null;
  private bar: LiveBar | null = null;
  private waiting: Promise<void> | null = null; // for a call tree
  private rested = ""; // what the line says while the pointer is nowhere
  private held = false; // a pointer is down: what it is over must not be drawn anew
  private readonly place: Place = { opened: new Set(), here: "", box: { path: [] }, whole: new Set() };

  constructor(private source: Source) {
    this.store = new Store(source.manifest.state ?? "", () => this.draw());
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, VIEWS.map((view) => this.tab(view)));
    const chooser = h("input", { type: "file", multiple: true, hidden: true, onchange: () => void this.open([...(chooser.files ?? [])]) });
    document.body.append(
      h("button", { class: "skip", onclick: () => this.toPanel() }, "Skip to the graph or table"),
      h("header", {}, this.title, this.take, h("button", { onclick: () => chooser.click() }, "Open files"), chooser,
        h("button", { id: "icicle", title: "Flame or icicle (i)", onclick: () => this.turn() }, "Upside down"),
        h("button", { id: "theme", title: "Light or dark (d)", onclick: () => this.dye() }, "Light or dark"),
        h("button", { id: "help", title: "Keys (?)", "aria-label": "Keys", onclick: () => this.keys.showModal() }, "?")),
      this.about, this.tabs, this.controls, this.problems, this.did, this.main, this.status, this.keys);
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("resize", () => this.draw());
    addEventListener("pointerdown", () => (this.held = true), { capture: true });
    for (const end of ["pointerup", "pointercancel", "dragend"]) addEventListener(end, () => (this.held = false), { capture: true });
    const dropping = (over: boolean) => (event: DragEvent) => {
      event.preventDefault();
      document.body.classList.toggle("dropping", over);
    };
    addEventListener("dragover", dropping(true));
    addEventListener("dragleave", dropping(false));
    addEventListener("drop", (event) => {
      dropping(false)(event);
      void this.open([...(event.dataTransfer?.files ?? [])]);
    });
  }

  async start(): Promise<void> {
    document.title = `${this.source.manifest.title} – rperf-push`;
    this.title.textContent = this.source.manifest.title;
    this.problems.replaceChildren();
    this.bar?.element.remove();
    this.bar = this.source.live ? new LiveBar(this.source.live, this.store) : null;
    if (this.bar) this.tabs.before(this.bar.element);
    this.take.hidden = !this.source.manifest.takes;
    this.panel.replaceChildren(h("p", {}, this.expected()));
    const { source } = this;
    const ours = <Told, Answer>(tell: (told: Told) => Answer) => (told: Told) => (source === this.source ? tell(told) : undefined); // another may have been opened
    await source.start({
      changed: ours((profile) => this.show(profile)),
      failed: ours((message) => this.problems.append(h("p", {}, message))),
      reading: ours((name) => (this.status.textContent = `${name} is read`)),
    });
  }

  private expected(): string {
    if (this.source.live) return "Waiting for what the processes do …";
    if (this.source.manifest.takes && this.source.manifest.files.length === 0) return "No snapshot yet. The application is profiled: take a snapshot to see what it did until now.";
    return this.source.manifest.files.length === 0 ? "Drop profiles here: pprof, JSON, collapsed stacks." : "Reading …";
  }

  private async takeSnapshot(): Promise<void> {
    this.take.disabled = true;
    this.problems.replaceChildren();
    const failed = await takeSnapshot().catch((error: unknown) => `No snapshot was taken: ${String(error)}`);
    if (failed === null) return location.reload();
    this.take.disabled = false;
    this.problems.append(h("p", {}, failed));
  }

  private async open(files: File[]): Promise<void> {
    if (files.length === 0) return;
    this.source.stop();
    this.source = droppedSource(files);
    this.model = this.filters = this.steps = this.waiting = null;
    Minimap.forget();
    this.main.ariaBusy = null; // nobody answers any more
    this.status.textContent = "";
    for (const one of [this.about, this.controls, this.did]) one.replaceChildren();
    this.store.set({ ...CLEARED, method: "", compare: "", base: "", target: "", value: "" }, false);
    await this.start();
  }

  private async show(profile: Profile): Promise<void> {
    document.body.dataset.loaded = String(profile.sampleCount);
    if (profile.sampleCount === 0) {
      this.model = null;
      if (this.source.live) this.panel.replaceChildren(h("p", {}, this.expected()));
      else if (this.source.manifest.files.length > 0) this.panel.replaceChildren(h("p", {}, "Nothing to show. Drop profiles here: pprof, JSON, collapsed stacks."));
    } else if (this.model?.profile === profile) {
      this.model.refresh();
      if (!this.held && !this.busy()) this.draw(true);
    } else {
      this.model = new Model(profile, this.source.live, this.source.trees);
      this.filters = new Controls(this.model, this.store);
      this.steps = new Steps(this.model, this.store);
      this.controls.replaceChildren(this.filters.element, this.steps.element);
      this.draw();
    }
    this.bar?.update(this.model);
    while (this.waiting) await this.waiting;
  }

  /** Something in the panel is in use that a new drawing would end: a list that has the focus, an open menu, text that is selected. */
  private busy(): boolean {
    const selection = getSelection();
    return (document.activeElement instanceof HTMLSelectElement && this.panel.contains(document.activeElement)) || this.panel.querySelector(".menu-holder[open]") !== null ||
      (selection !== null && !selection.isCollapsed && this.panel.contains(selection.anchorNode));
  }

  private toPanel(): void {
    const inside = this.panel.querySelector<HTMLElement>(".flame") ?? this.panel.querySelector<HTMLElement>("[tabindex='0'], button, select");
    inside?.focus();
    inside?.scrollIntoView({ block: "nearest" });
  }

  /** @param again with more of the same: what was open stays so, and nothing is read out */
  private draw(again = false): void {
    const { state } = this.store;
    document.documentElement.dataset.theme = state.theme;
    for (const tab of this.tabs.children) {
      const chosen = (tab as HTMLElement).dataset.view === state.view;
      tab.setAttribute("aria-selected", String(chosen));
      (tab as HTMLElement).tabIndex = chosen ? 0 : -1;
    }
    if (!this.model) return;
    if (!again) this.about.replaceChildren(aboutLine(this.model.about(state)));
    this.filters?.update(again);
    this.steps?.update();
    if (this.waits(again)) return;
    let quiet = again;
    const rests = this.status.textContent === this.rested;
    const say = (text: string) => {
      if (quiet && !rests) return; // it is about what is under the pointer
      this.status.ariaLive = again && quiet ? "off" : "polite";
      this.status.textContent = text;
      if (drawing) this.rested = text;
    };
    let drawing = true;
    say("");
    const did = this.model.threadsDid(state);
    const compared = this.model.compares(state) && comparedLine(this.model.sampleTree(state), this.model.type(state).name, this.model.type(state).unit);
    this.did.replaceChildren(...(compared ? [compared] : []), ...(did ? [doingLine(did)] : []));
    const focused = this.panel.contains(document.activeElement) ? sameAgain(document.activeElement!) : null;
    const scrolled = again ? scrolledBy(this.panel, state.icicle) : null;
    this.panel.replaceChildren(DRAW[state.view]({ model: this.model, state, store: this.store, source: this.source, width: this.panel.clientWidth, place: this.place, say }));
    if (state.view === "flame") fitIn(this.panel, state.icicle, scrolled);
    quiet = drawing = false;
    this.panel.setAttribute("aria-label", TITLES[state.view]);
    if (focused) this.panel.querySelector<HTMLElement>(focused)?.focus();
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  }

  /** True: another thread makes the call tree; it is drawn then, as the state wants it by that time. */
  private waits(again: boolean): boolean {
    if (this.waiting) return true;
    const preparing = this.model!.prepare(this.store.state);
    if (!preparing) return false;
    this.main.ariaBusy = "true";
    this.status.textContent = "Adding up …";
    const waiting = preparing.catch((error: unknown) => void this.problems.append(h("p", {}, String(error)))).then(() => {
      if (this.waiting !== waiting) return; // another file was opened
      this.waiting = null;
      this.main.ariaBusy = null;
      this.draw(again);
    });
    this.waiting = waiting;
    return true;
  }

  private tab(view: View): HTMLElement {
    return h("button", { role: "tab", "data-view": view, "aria-controls": "panel", title: `Key ${VIEWS.indexOf(view) + 1}`,
      onclick: () => this.store.set({ view, sort: "" }, true),
      onkeydown: (event: KeyboardEvent) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (step && !isShortcut(event)) (this.tabs.children[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length] as HTMLElement).focus();
      } }, TITLES[view]);
  }

  private turn(): void {
    this.store.set({ icicle: !this.store.state.icicle }, false);
  }

  private dye(): void {
    this.store.set({ theme: THEMES[this.store.state.theme] }, false);
  }

  private key(event: KeyboardEvent): void {
    if (this.keys.open) return;
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (isShortcut(event) || (typing && event.key !== "Escape")) return;
    const view = VIEWS[Number(event.key) - 1];
    if (view) this.store.set({ view, sort: "" }, true);
    else if (event.key === "/") this.filters?.searchFor();
    else if (event.key === "i") this.turn();
    else if (event.key === "d") this.dye();
    else if (event.key === "," || event.key === ".") this.steps?.move(event.key === "." ? 1 : -1);
    else if (event.key === "p" && this.bar) this.bar.turn();
    else if (event.key === "x" && this.bar) this.bar.clear();
    else if (event.key === "?") this.keys.showModal();
    else if (event.key === "Escape" && typing) (event.target as HTMLElement).blur();
    else return;
    event.preventDefault();
  }
}

/** How to find what had the focus in a view that was drawn anew. */
function sameAgain(element: Element): string | null {
  for (const one of ["flame", "minimap"]) if (element.classList.contains(one)) return `.${one}`;
  if (element.matches("table.calls tr")) return "table.calls tr[tabindex='0']";
  const sort = element.getAttribute("data-sort");
  return sort && `[data-sort="${sort}"]`;
}
