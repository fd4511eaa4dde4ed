import { Sieve, NONE, type Filter } from "./filter";
import type { Commit, Profile, Window } from "./profile";

const MOST_COLUMNS = 160;
const MOST_ROWS = 24;
const COVERED = 0.25; // of the time from the first to the last window: else they are no line of time
const SHA_SHOWN = 7;
const DATED = /\d{4}-?\d\d-?\d\d/; // a name that says when

const SECOND = 1000; // ms
const [MINUTE, HOUR, DAY] = [60 * SECOND, 3600 * SECOND, 86_400 * SECOND];
/** How far apart the marks of the axis may be, in ms. */
const APART = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500], ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND), ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR), ...[1, 2, 7, 14, 28, 91, 364].map((days) => days * DAY),
];

/** A mark of the axis of time. */
export interface Mark {
  at: number; // share of the width
  text: string;
}

/** Windows in columns: by time where they follow each other, else one a snapshot, in their order. */
export class Timeline {
  readonly columnOf: Int32Array; // of each window
  readonly titles: string[];
  readonly snapshots: boolean; // columns are files, not times
  private readonly step: number = 0; // ns of a column; 0: columns are files
  private readonly begin: number = 0; // ns

  /** @param live times, even after a pause */
  constructor(profile: Profile, live: boolean) {
    const { windows } = profile;
    this.snapshots = !live && !follow(windows);
    this.columnOf = new Int32Array(windows.length);
    if (this.snapshots) {
      const order = inOrder(windows);
      order.forEach((window, column) => (this.columnOf[window] = column));
      this.titles = order.map((window) => snapshotTitle(windows[window]));
    } else {
      const begin = Math.min(...windows.map((window) => window.start));
      const end = Math.max(...windows.map((window) => window.start));
      const step = Math.max(typicalStep(windows.map((window) => window.duration)), (end - begin) / (MOST_COLUMNS - 1), 1);
      windows.forEach((window, index) => (this.columnOf[index] = Math.round((window.start - begin) / step)));
      this.step = step;
      this.begin = begin;
      this.titles = Array.from({ length: Math.max(...this.columnOf) + 1 }, (_, column) => clock(begin + column * step));
    }
  }

  /** Round times of the clock on the wall, as many as there is room for; none where columns are files. */
  marks(most: number): Mark[] {
    const [begin, length] = [this.begin / 1e6, (this.step * this.titles.length) / 1e6];
    if (length <= 0) return [];
    const apart = APART.find((one) => length / one <= most) ?? length;
    const zone = new Date(begin).getTimezoneOffset() * MINUTE;
    const marks: Mark[] = [];
    for (let time = Math.ceil((begin - zone) / apart) * apart + zone; time < begin + length; time += apart) {
      const day = marks.length === 0 ? length >= DAY : (time - zone) % DAY < apart;
      marks.push({ at: (time - begin) / length, text: markText(time, apart, day) });
    }
    return marks;
  }

  /** From one column's begin to another one's end, in ns; 0: columns are files. */
  length([from, to]: [number, number]): number {
    return this.step * (to - from + 1);
  }

  /** How much time windows of each column cover, in ns; null: not known of one that has any. */
  covered(windows: readonly Window[]): Float64Array | null {
    const covered = new Float64Array(this.titles.length);
    const ends = new Float64Array(this.titles.length);
    const order = windows.map((_, index) => index).sort((a, b) => windows[a].start - windows[b].start);
    for (const index of order) {
      const { start, duration } = windows[index];
      const column = this.columnOf[index];
      if (duration <= 0) return null;
      covered[column] += Math.max(start + duration - Math.max(start, ends[column]), 0);
      ends[column] = Math.max(ends[column], start + duration);
    }
    return covered;
  }

  /** Columns of the last seconds; null where none is asked for, or no times are known. */
  last(seconds: string): [number, number] | null {
    const columns = this.step > 0 ? Math.ceil((Number(seconds) * 1e9) / this.step) : 0;
    return columns > 0 ? [this.titles.length - columns, this.titles.length - 1] : null;
  }
}

/** Whether windows are of one stretch of time, one after or beside the other. */
function follow(windows: readonly Window[]): boolean {
  if (windows.length === 0 || windows.some(({ start, commit }) => start <= 0 || commit)) return false;
  const begin = Math.min(...windows.map(({ start }) => start));
  const end = Math.max(...windows.map(({ start, duration }) => start + duration));
  return windows.length === 1 || windows.reduce((sum, { duration }) => sum + duration, 0) >= (end - begin) * COVERED;
}

/** By the time of their commits, then by their own; as they came where that is not known of all. */
function inOrder(windows: readonly Window[]): number[] {
  const order = windows.map((_, index) => index);
  const sortBy = (time: (window: Window) => number) => {
    if (windows.every((window) => time(window) > 0)) order.sort((a, b) => time(windows[a]) - time(windows[b]));
  };
  sortBy(({ start }) => start);
  sortBy(({ commit }) => commit?.time ?? NaN);
  return order;
}

function snapshotTitle({ name, start, commit }: Window): string {
  const when = start > 0 && (commit || !DATED.test(name)) ? `${clock(start)} ` : "";
  return when + (commit ? commitText(commit) : name);
}

export function commitText({ sha, subject, dirty }: Commit): string {
  return `${sha.slice(0, SHA_SHOWN)}${dirty ? " (changed)" : ""} ${subject}`.trimEnd();
}

function typicalStep(durations: number[]): number {
  const sorted = durations.filter((duration) => duration > 0).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

export function clock(ns: number): string {
  const time = new Date(ns / 1e6);
  return `${dayOf(time)} ${hourOf(time)}:${pad(time.getSeconds())}`;
}

/** As exact as the distance to the next one asks for. @param day it is the first one of a day */
function markText(ms: number, apart: number, day: boolean): string {
  const time = new Date(ms);
  if (apart >= DAY || (day && apart >= HOUR)) return dayOf(time);
  const seconds = apart < SECOND ? (time.getSeconds() + time.getMilliseconds() / 1000).toFixed(3).padStart(6, "0") : pad(time.getSeconds());
  return `${day ? `${dayOf(time)} ` : ""}${hourOf(time)}${apart < MINUTE ? `:${seconds}` : ""}`;
}

function dayOf(time: Date): string {
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
}

function hourOf(time: Date): string {
  return `${pad(time.getHours())}:${pad(time.getMinutes())}`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}

export interface HeatRow {
  name: string;
  cells: Float64Array;
}

/** What each column has of each value of a label: the largest rows, and one of all others. The range that is chosen does not narrow it. */
export function heat(profile: Profile, timeline: Timeline, type: number, filter: Filter, key: string): HeatRow[] {
  const { sampleCount, sampleLabels, sampleWindow, labelSets } = profile;
  const values = profile.values[type];
  const sieve = new Sieve(profile, { ...filter, windows: null, target: null }, timeline.columnOf);
  const ofSet = new Float64Array(labelSets.length);
  const seen = new Uint8Array(labelSets.length);
  for (let sample = 0; sample < sampleCount; sample++) {
    if (!sieve.keeps(sample)) continue;
    ofSet[sampleLabels[sample]] += values[sample];
    seen[sampleLabels[sample]] = 1;
  }
  const nameOf = (set: number) => (key === "" ? "all" : (labelSets[set].get(key) ?? NONE));
  const totals = new Map<string, number>();
  ofSet.forEach((amount, set) => seen[set] && totals.set(nameOf(set), (totals.get(nameOf(set)) ?? 0) + amount));

  const names = [...totals].sort(([, a], [, b]) => b - a).map(([name]) => name);
  const shown = names.slice(0, MOST_ROWS).map((name): HeatRow => ({ name, cells: new Float64Array(timeline.titles.length) }));
  const others: HeatRow = { name: `(${names.length - shown.length} others)`, cells: new Float64Array(timeline.titles.length) };
  const rows = new Map(shown.map((row) => [row.name, row]));
  const rowOf = labelSets.map((_, set) => rows.get(nameOf(set)) ?? others);
  for (let sample = 0; sample < sampleCount; sample++) {
    if (sieve.keeps(sample)) rowOf[sampleLabels[sample]].cells[timeline.columnOf[sampleWindow[sample]]] += values[sample];
  }
  return names.length > shown.length ? [...shown, others] : shown;
}
