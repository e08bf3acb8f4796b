import { afterEach, expect, test, vi } from 'vitest';

vi.mock('$app/paths', () => ({ base: '/ui' }));
const { exportedLines } = await import('../src/lib/services/audit');

const LINE = new TextEncoder().encode('{"number":1}\n');

afterEach(() => vi.unstubAllGlobals());

/** An answer that sends a line whenever it is read, and never ends; `cancelled` counts. */
function endless(): { answer: Response; cancelled: () => number } {
	let count = 0;
	const body = new ReadableStream<Uint8Array>({
		pull: (controller) => controller.enqueue(LINE),
		cancel: () => void (count += 1)
	});
	return { answer: new Response(body), cancelled: () => count };
}

test('the rest of an export is not read after its reader has ended early', async () => {
	const { answer, cancelled } = endless();
	vi.stubGlobal('fetch', () => Promise.resolve(answer));
	for await (const lines of exportedLines({}, new AbortController().signal)) {
		expect(lines).toHaveLength(1);
		break;
	}
	expect(cancelled()).toBe(1);
});

test('a lost connection is a problem and nothing else', async () => {
	const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new TypeError('lost')) });
	vi.stubGlobal('fetch', () => Promise.resolve(new Response(body)));
	await expect(exportedLines({}, new AbortController().signal).next()).rejects.toMatchObject({ code: 'unreachable' });
});
