import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { AnswerListener, AnswerTask } from '../../src/lib/services/chat/answer_reader';

const at = vi.hoisted(() => ({ base: '' }));
vi.mock('$app/paths', () => ({
	get base() {
		return at.base;
	}
}));

/** The server plays the API at its edge: it cuts where the test says. The journeys run the real one. */
type Handler = (request: IncomingMessage, response: ServerResponse) => void;
let handlers: Handler[] = [];
let asked: string[] = [];
let server: Server;

beforeEach(async () => {
	handlers = [];
	asked = [];
	server = createServer((request, response) => {
		asked.push(`${request.method} ${request.url}`);
		const handle = handlers.shift();
		if (handle) handle(request, response);
		else response.writeHead(500).end();
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	at.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ui`;
	vi.resetModules();
	vi.stubGlobal('navigator', { onLine: true });
});
afterEach(() => {
	server.closeAllConnections();
	server.close();
});

const EVENTS = ['created', 'delta', 'end'].map((type, sequence) => `data: ${JSON.stringify({ type, sequence_number: sequence })}\n\n`);
const BYTES = EVENTS.map((event) => Buffer.byteLength(event));
const [CREATED = '', DELTA = '', END = ''] = EVENTS;

function streaming(...pieces: string[]): Handler {
	return (_, response) => {
		response.writeHead(200, { 'Content-Type': 'text/event-stream' });
		for (const piece of pieces) response.write(piece);
		response.end();
	};
}

function cutAfter(...pieces: string[]): Handler {
	return (_, response) => {
		response.writeHead(200, { 'Content-Type': 'text/event-stream' });
		response.write(pieces.join(''), () => response.destroy());
	};
}

function refusing(status: number, code: string): Handler {
	return (_, response) => {
		response.writeHead(status, { 'Content-Type': 'application/json', 'Retry-After': '0' });
		response.end(JSON.stringify({ error: { code, message: 'no', type: 'x' } }));
	};
}

async function read(given: Partial<AnswerTask> = {}) {
	const { readAnswer } = await import('../../src/lib/services/chat/answer_reader');
	const task: AnswerTask = { id: 'm1', body: '{}', offset: 0, sequence: -1, responseId: null, isResumed: false, ...given };
	const types: unknown[] = [];
	const listener: AnswerListener = {
		event(data, offset) {
			types.push(data.type);
			Object.assign(task, { offset, sequence: data.sequence_number, responseId: 'resp_1', body: null });
			return data.type === 'end';
		},
		whole: (response) => types.push(response.status),
		connection: () => undefined,
		head: () => undefined
	};
	const { Backoff } = await import('../../src/lib/services/chat/pause');
	const outcome = await readAnswer(task, listener, new AbortController().signal, new Backoff(1));
	return { outcome, types };
}

test('an answer is read on from the byte after the last whole event', async () => {
	handlers = [cutAfter(CREATED, ': ka\n\n', DELTA.slice(0, 9)), cutAfter(DELTA), streaming(END, 'data: [DONE]\n\n')];
	expect(await read()).toEqual({ outcome: 'ended', types: ['created', 'delta', 'end'] });
	const [first = 0, second = 0] = BYTES;
	expect(asked).toEqual([
		'POST /v1/responses?autoload=true',
		`GET /v1/stream/m1?from=${first}`,
		`GET /v1/stream/m1?from=${first + second}`
	]);
});

test('a request whose first event did not come is sent again, with the same key', async () => {
	const keys: unknown[] = [];
	const noting: (handler: Handler) => Handler = (handler) => (request, response) => {
		keys.push(request.headers['idempotency-key'], request.headers['x-conversation-id']);
		handler(request, response);
	};
	handlers = [noting((request) => void request.destroy()), noting(streaming(...EVENTS))];
	expect((await read()).outcome).toBe('ended');
	expect(keys).toEqual(['m1', 'm1', 'm1', 'm1']);
});

test('an answer whose stream is not kept any more is taken as a whole', async () => {
	const whole: Handler = (_, response) => response.end(JSON.stringify({ id: 'resp_1', status: 'completed' }));
	handlers = [refusing(404, 'not_found'), whole];
	expect(await read({ body: null, responseId: 'resp_1' })).toEqual({ outcome: 'ended', types: ['completed'] });
});

test('an answer that runs is followed by its events where its bytes are not kept', async () => {
	const running: Handler = (_, response) => response.end(JSON.stringify({ id: 'resp_1', status: 'in_progress' }));
	handlers = [refusing(400, 'invalid_request'), running, streaming(END)];
	expect(await read({ body: null, responseId: 'resp_1', sequence: 1 })).toEqual({ outcome: 'ended', types: ['end'] });
	expect(asked.at(-1)).toBe('GET /v1/responses/resp_1?stream=true&starting_after=1');
});

test('an answer that is kept nowhere is lost', async () => {
	handlers = [refusing(404, 'not_found'), refusing(404, 'not_found')];
	expect((await read({ body: null, responseId: 'resp_1' })).outcome).toBe('lost');
	expect((await read({ body: null })).outcome).toBe('lost');
});

test('a page that was loaded again asks for the state first', async () => {
	const whole: Handler = (_, response) => response.end(JSON.stringify({ id: 'resp_1', status: 'completed' }));
	handlers = [whole];
	expect((await read({ body: null, responseId: 'resp_1', isResumed: true })).types).toEqual(['completed']);
	expect(asked).toEqual(['GET /v1/responses/resp_1']);
});

test('a refusal of the request ends it, and one that passes does not', async () => {
	handlers = [refusing(503, 'storage_unavailable'), refusing(503, 'queue_full')];
	expect((await read()).outcome).toMatchObject({ status: 503, code: 'queue_full' });
	expect(asked).toHaveLength(2);
});

test('a request waits for a load as long as that takes, and for other refusals two minutes', async () => {
	const later = (minutes: number, handle: Handler): Handler => (request, response) => {
		vi.setSystemTime(Date.now() + minutes * 60_000);
		handle(request, response);
	};
	vi.useFakeTimers({ toFake: ['Date'] });
	try {
		handlers = [later(10, refusing(409, 'model_loading')), later(10, refusing(409, 'model_loading')), streaming(CREATED, END)];
		expect((await read()).outcome).toBe('ended');
		handlers = [later(10, refusing(503, 'server_busy'))];
		expect((await read()).outcome).toMatchObject({ code: 'server_busy' });
	} finally {
		vi.useRealTimers();
	}
});

test("a proxy's page while the API restarts is no refusal", async () => {
	const page: Handler = (_, response) => response.writeHead(502).end('<html>Bad Gateway</html>');
	handlers = [page, streaming(...EVENTS)];
	expect((await read()).outcome).toBe('ended');
});
