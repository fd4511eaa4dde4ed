import { Sieve, type Filter } from "./filter";
import type { Profile } from "./profile";

export interface Line {
  number: number;
  self: number;
  total: number;
}

/** The lines of a function, with what is their own and what is below them; a line within itself counts once. */
export function linesOf(profile: Profile, type: number, filter: Filter, columnOf: ArrayLike<number>, name: string, file: string): Line[] {
  const { stacks, frames } = profile;
  const own = ownAmounts(profile, type, filter, columnOf);
  const total = own.slice();
  for (let node = stacks.size - 1; node > 0; node--) total[stacks.parent[node]] += total[node];

  const wanted = frames.map((frame) => frame.name === name && frame.file === file);
  const lines = new Map<number, Line>();
  for (let node = 1; node < stacks.size; node++) {
    const frame = stacks.frame[node];
    if (!wanted[frame] || total[node] === 0) continue;
    const number = frames[frame].line;
    let line = lines.get(number);
    if (!line) lines.set(number, (line = { number, self: 0, total: 0 }));
    line.self += own[node];
    if (!above(profile, node, frame)) line.total += total[node];
  }
  return [...lines.values()].sort((a, b) => a.number - b.number);
}

function ownAmounts(profile: Profile, type: number, filter: Filter, columnOf: ArrayLike<number>): Float64Array {
  const own = new Float64Array(profile.stacks.size);
  const sieve = new Sieve(profile, filter, columnOf);
  for (let sample = 0; sample < profile.sampleCount; sample++) {
    if (sieve.keeps(sample)) own[profile.sampleNode[sample]] += profile.values[type][sample];
  }
  return own;
}

function above(profile: Profile, node: number, frame: number): boolean {
  const { parent, frame: frameOf } = profile.stacks;
  for (let at = parent[node]; at > 0; at = parent[at]) if (frameOf[at] === frame) return true;
  return false;
}
