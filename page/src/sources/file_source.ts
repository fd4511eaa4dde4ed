import { GrowingProfile } from "../data/growing_profile";
import type { Profile } from "../data/profile";
import { MAX_BYTES } from "../decode/limit";
import { isLarge } from "../decode/orders";
import { Reading } from "./reading";
import { servedLines } from "./served";
import type { FileEntry, Listener, Manifest, Source, Trees } from "./source";

type Reader = (file: FileEntry, index: number) => Promise<Uint8Array<ArrayBuffer>>;

export class FileSource implements Source {
  trees?: Trees;
  private reading: Reading | null = null;

  constructor(readonly manifest: Manifest, private readonly read: Reader) {}

  async start({ changed, failed, reading }: Listener): Promise<void> {
    const began = performance.now();
    this.reading = new Reading(this.manifest.max_bytes ?? MAX_BYTES, reading, failed);
    for (const [index, file] of this.manifest.files.entries()) {
      try {
        this.reading.add(await this.read(file, index), file.name, file.side ?? "");
      } catch (error) {
        failed(error instanceof Error ? error.message : String(error));
      }
    }
    const profile = await this.reading.end().catch((error: unknown): Profile => {
      failed(String(error));
      return new GrowingProfile(); // nothing, which is said, too
    });
    performance.measure("read", { start: began });
    if (isLarge(profile)) this.trees = this.reading;
    else this.reading.stop();
    await changed(profile);
    performance.measure("read and drawn", { start: began });
  }

  stop(): void {
    this.reading?.stop();
  }

  lines(path: string): Promise<string[] | null> {
    return servedLines(this.manifest, path);
  }
}

/** Files that were dropped on the page, or chosen. */
export function droppedSource(files: File[]): Source {
  const manifest = { title: files.map((file) => file.name).join(", "), files: files.map((file) => ({ name: file.name })) };
  return new FileSource(manifest, async (_, index) => new Uint8Array(await files[index].arrayBuffer()));
}
