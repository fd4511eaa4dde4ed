import { PbfReader } from "pbf";

/** How much of a file is read, uncompressed, where it is not said otherwise. */
export const MAX_BYTES = 256 * 2 ** 20;
const OBJECTS = 6; // times as much memory may be taken by what is in a file
const MOST_FROM_A_BYTE = 60; // bytes of memory: a file that is small enough need not be looked through
/** What a browser takes for each, in bytes. */
const JSON_COSTS: Partial<Record<string, number>> = { "[": 48, "{": 80, '"': 40, ":": 40, ",": 16 };
const COLLAPSED_COSTS: Partial<Record<string, number>> = { "\n": 240, ";": 48 };
const FIELD = 120;
const LOCATION = { number: 4, byte: 12 }; // its lines are objects

/** A file of a thousandth of that size may unpack to it: without a limit, the browser would be out of memory. */
export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`too large: more than ${Math.ceil(maxBytes / 2 ** 20)} MiB unpacked, or too much in it for them. If you trust it: rperf-push view --max-bytes N`);
  }
}

export type Kind = "json" | "collapsed" | "pprof";

/** @throws TooLarge when what is in a file would take too much memory */
export function checkMemory(bytes: Uint8Array, kind: Kind, maxBytes: number): void {
  const most = OBJECTS * maxBytes;
  if (bytes.length * MOST_FROM_A_BYTE <= most) return;
  const memory = kind === "pprof" ? ofFields(bytes) : ofCharacters(bytes, kind);
  if (memory > most) throw new TooLarge(maxBytes);
}

function ofCharacters(bytes: Uint8Array, kind: "json" | "collapsed"): number {
  const costs = new Uint8Array(256);
  for (const [character, cost] of Object.entries(kind === "json" ? JSON_COSTS : COLLAPSED_COSTS)) costs[character.charCodeAt(0)] = cost!;
  let memory = bytes.length;
  for (let at = 0; at < bytes.length; at++) memory += costs[bytes[at]]; // in texts, too: there are few
  return memory;
}

function ofFields(bytes: Uint8Array): number {
  let memory = 0;
  new PbfReader(bytes).readFields((number, _, pbf) => {
    memory += FIELD + (number === LOCATION.number ? pbf.readVarint() * LOCATION.byte : 0);
  }, null);
  return memory;
}
