import type { GrowingProfile } from "../data/growing_profile";
import type { Side } from "../data/profile";
import { decodeCollapsed, looksCollapsed } from "./collapsed";
import { decodeJson } from "./json";
import { decodePprof } from "./pprof";

/** Adds a file to the profile. What is in it decides what it is, not its name. @param unpacked when it is about to be decoded */
export async function decode(bytes: Uint8Array, name: string, side: Side, profile: GrowingProfile, unpacked: () => void = () => {}): Promise<void> {
  const before = profile.sampleCount;
  try {
    const raw = await unpack(bytes);
    unpacked();
    if (isObject(raw)) decodeJson(text(raw), name, side, profile);
    else if (looksCollapsed(raw)) decodeCollapsed(text(raw), name, side, profile);
    else decodePprof(raw, name, side, profile);
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (profile.sampleCount === before) throw new Error(`${name}: no samples`);
}

async function unpack(bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error("not a whole gzip file");
  }
}

function isObject(bytes: Uint8Array): boolean {
  let at = 0;
  while (bytes[at] === 0x20 || (bytes[at] >= 9 && bytes[at] <= 13)) at++;
  return bytes[at] === 0x7b && !(at === 1 && bytes[0] === 0x0a); // "\n{" begins a pprof with a message of 123 bytes
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
