import { Sieve, NONE, type Filter } from "./filter";
import type { Profile } from "./profile";

const MOST_COLUMNS = 160;
const MOST_ROWS = 24;

/** Windows in columns: by time where all say when they began, else one a file. */
export class Timeline {
  readonly columnOf: Int32Array;
  readonly titles: string[];
  private readonly step: number = 0; // ns of a column; 0: columns are files

  constructor(profile: Profile) {
    const { windows } = profile;
    if (windows.length > 0 && windows.every((window) => window.start > 0)) {
      const begin = Math.min(...windows.map((window) => window.start));
      const end = Math.max(...windows.map((window) => window.start));
      const step = Math.max(typicalStep(windows.map((window) => window.duration)), (end - begin) / (MOST_COLUMNS - 1), 1);
      this.columnOf = Int32Array.from(windows, (window) => Math.round((window.start - begin) / step));
      const count = Math.max(...this.columnOf) + 1;
      this.step = step;
      this.titles = Array.from({ length: count }, (_, column) => clock(begin + column * step));
    } else {
      this.columnOf = Int32Array.from(windows, (_, window) => window);
      this.titles = windows.map((window) => window.name);
    }
  }

  /** Columns of the last seconds; null where none is asked for, or no times are known. */
  last(seconds: string): [number, number] | null {
    const columns = this.step > 0 ? Math.ceil((Number(seconds) * 1e9) / this.step) : 0;
    return columns > 0 ? [this.titles.length - columns, this.titles.length - 1] : null;
  }
}

function typicalStep(durations: number[]): number {
  const sorted = durations.filter((duration) => duration > 0).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

function clock(ns: number): string {
  const pad = (number: number) => String(number).padStart(2, "0");
  const time = new Date(ns / 1e6);
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} ${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}

export interface HeatRow {
  name: string;
  cells: Float64Array;
  total: number;
}

/** What each column has of each value of a label; the largest rows. The range that is chosen does not narrow it. */
export function heat(profile: Profile, timeline: Timeline, type: number, filter: Filter, key: string): HeatRow[] {
  const sieve = new Sieve(profile, { ...filter, windows: null }, timeline.columnOf);
  const rows = new Map<string, HeatRow>();
  for (let sample = 0; sample < profile.sampleCount; sample++) {
    if (!sieve.keeps(sample)) continue;
    const name = key === "" ? "all" : (profile.labelSets[profile.sampleLabels[sample]][key] ?? NONE);
    let row = rows.get(name);
    if (!row) rows.set(name, (row = { name, cells: new Float64Array(timeline.titles.length), total: 0 }));
    const amount = profile.values[type][sample];
    row.cells[timeline.columnOf[profile.sampleWindow[sample]]] += amount;
    row.total += amount;
  }
  return [...rows.values()].sort((a, b) => b.total - a.total).slice(0, MOST_ROWS);
}
