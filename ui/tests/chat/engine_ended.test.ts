import 'fake-indexeddb/auto';
import { beforeEach, expect, test, vi } from 'vitest';
import { ApiProblem } from '../../src/lib/services/call';
import { putSetting } from '../../src/lib/storage/settings';
import { KEPT, noteEnded } from '../../src/lib/stores/chat/ended_responses';

const deleted: string[] = [];
let refusal: ApiProblem | null;

vi.mock('../../src/lib/services/chat/answer_calls', () => ({
	deleteResponse: async (id: string) => {
		if (refusal !== null) throw refusal;
		deleted.push(id);
	}
}));

beforeEach(async () => {
	deleted.length = 0;
	refusal = null;
	await putSetting('responses.ended', undefined);
});

async function end(first: number, last: number): Promise<void> {
	for (let at = first; at <= last; at++) await noteEnded(`resp_${at}`);
}

test('the latest ended responses stay on the platform, earlier ones are deleted there', async () => {
	await end(1, KEPT);
	expect(deleted).toEqual([]);
	await end(KEPT + 1, KEPT + 2);
	expect(deleted).toEqual(['resp_1', 'resp_2']);
	await noteEnded('resp_3'); // its end is written once more
	await noteEnded('resp_20');
	expect(deleted).toEqual(['resp_1', 'resp_2', 'resp_4']);
});

test.each([401, 429, 503])('a deletion that met %i is done at the next end', async (status) => {
	refusal = new ApiProblem(status, 'x', 'not now');
	await end(1, KEPT + 1);
	expect(deleted).toEqual([]);
	refusal = null;
	await noteEnded('resp_20');
	expect(deleted).toEqual(['resp_1', 'resp_2']);
});

test('a response that is gone is not asked for again', async () => {
	refusal = new ApiProblem(404, 'not_found', 'no such response');
	await end(1, KEPT + 1);
	refusal = null;
	await noteEnded('resp_20');
	expect(deleted).toEqual(['resp_2']);
});
