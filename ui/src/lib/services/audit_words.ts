import type { Finding } from '$lib/services/audit_chain';
import type { HeadProblem } from '$lib/services/signed_head';
import { text } from '$lib/text';

const words = text.audit.verify;

/** What is wrong at a record, in words. */
export function findingWords({ number, problem }: Finding): string {
	if (typeof problem === 'string') return words.problems[problem];
	if (problem.kind === 'missing') return words.missing(number, problem.last);
	return words.outOfPlace(problem.number);
}

/** What the head of this number shows, in words. */
export function headWords(number: number, problem: HeadProblem): string {
	if (problem.kind === 'shortened') return words.heads.shortened(problem.end, problem.missing);
	if (problem.kind === 'older') return words.heads.older(number, problem.first);
	return words.heads.replaced(number);
}
