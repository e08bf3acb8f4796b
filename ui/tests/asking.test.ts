import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Asking, type Answered } from '../src/lib/services/asking';
import { ApiProblem } from '../src/lib/services/call';

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

/** A platform whose answers come when they are given; `asked` has the questions, `answers` what was reported. */
function platform(everyMs?: number) {
	const asked: string[] = [];
	const answers: Answered<string>[] = [];
	const given: ((answer: string | Error) => void)[] = [];
	const seen = { isVisible: true };
	const asking = new Asking<string>({
		ask: (question) => {
			asked.push(question);
			return new Promise((resolve, reject) =>
				given.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)))
			);
		},
		onanswer: (answer) => answers.push(answer),
		everyMs,
		mayRepeat: () => seen.isVisible
	});
	const answer = async (value: string | Error) => {
		given.shift()?.(value);
		await vi.advanceTimersByTimeAsync(0);
	};
	return { asking, asked, answers, answer, seen };
}

test('a question is asked a moment later, and once', async () => {
	const { asking, asked, answers, answer } = platform();
	asking.begin('a');
	expect(asked).toEqual([]);
	await vi.advanceTimersByTimeAsync(400);
	await answer('yes');
	await vi.advanceTimersByTimeAsync(60_000);
	expect([asked, answers]).toEqual([['a'], [{ value: 'yes' }]]);
});

test('a question is asked again after each answer until it ends, and a refusal does not end it', async () => {
	const { asking, asked, answers, answer } = platform(5_000);
	const end = asking.begin('a');
	await vi.advanceTimersByTimeAsync(400);
	await answer('fits');
	await vi.advanceTimersByTimeAsync(5_000);
	await answer(new ApiProblem(503, 'overloaded', 'later'));
	await vi.advanceTimersByTimeAsync(5_000);
	await answer('too large');
	end();
	await vi.advanceTimersByTimeAsync(60_000);
	expect(asked).toEqual(['a', 'a', 'a']);
	expect(answers.map(({ value, problem }) => value ?? problem?.code)).toEqual(['fits', 'overloaded', 'too large']);
});

test('nothing is asked again in a tab that is not seen, and it goes on when it is', async () => {
	const { asking, asked, answer, seen } = platform(5_000);
	asking.begin('a');
	await vi.advanceTimersByTimeAsync(400);
	await answer('fits');
	seen.isVisible = false;
	await vi.advanceTimersByTimeAsync(60_000);
	expect(asked).toHaveLength(1);
	seen.isVisible = true;
	await vi.advanceTimersByTimeAsync(5_000);
	expect(asked).toHaveLength(2);
});

test('the platform is asked one thing at a time, and the answer to an earlier question is dropped', async () => {
	const { asking, asked, answers, answer } = platform();
	const end = asking.begin('a');
	await vi.advanceTimersByTimeAsync(400);
	end();
	asking.begin('b');
	await vi.advanceTimersByTimeAsync(400);
	expect(asked).toEqual(['a']);
	await answer('of a');
	expect(asked).toEqual(['a', 'b']);
	await answer('of b');
	expect(answers).toEqual([{ value: 'of b' }]);
});
