// Files of the site that scripts fetch: lists and raw records, compressed or not.

/** A JSON file. */
export async function fetchedJson<T>(url: string): Promise<T> {
  const reply = await found(url);
  if (!url.endsWith('.zst')) return (await reply.json()) as T;
  const packed = await import('./packed');
  return JSON.parse(packed.text(url, new Uint8Array(await reply.arrayBuffer()))) as T;
}

/** The content of a compressed file. */
export async function fetchedContent(url: string): Promise<Uint8Array> {
  const reply = await found(url);
  const packed = await import('./packed');
  return packed.content(url, new Uint8Array(await reply.arrayBuffer()));
}

async function found(url: string): Promise<Response> {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`${url}: HTTP ${reply.status}`);
  return reply;
}
