import type { ProposedOperation } from '$lib/services/proposals';
import { text } from '$lib/text';

/** The form for a proposal: its fields by operation, and the body that they make. */

const words = text.approvals.propose;

export const OPERATIONS: readonly ProposedOperation[] = [
	'model-load',
	'model-unload',
	'model-add',
	'model-remove',
	'cache-flush',
	'access-change'
];

/** The fields of a body, by operation, in the order of the form; none: the body is one text of JSON. */
export const FIELDS: Record<ProposedOperation, readonly string[]> = {
	'model-load': ['modelId', 'quantization', 'maxContextLength', 'gpuMemoryBudgetMB', 'evictModel'],
	'model-unload': ['modelId'],
	'model-add': [],
	'model-remove': ['name'],
	'cache-flush': ['scope', 'modelId', 'tenantId', 'tag'],
	'access-change': []
};

/** Whether the body of this operation is entered as JSON. */
export function isJson(operation: ProposedOperation): boolean {
	return FIELDS[operation].length === 0;
}

const INTEGERS = ['maxContextLength', 'gpuMemoryBudgetMB'];

/** Which fields a flush of this scope has. */
export const SCOPE_FIELDS: Record<string, readonly string[]> = {
	all: [],
	model: ['modelId'],
	tenant: ['tenantId'],
	tag: ['tenantId', 'tag']
};

/** The fields of the form for this operation and scope. */
export function fieldsOf(operation: ProposedOperation, scope: string): readonly string[] {
	if (operation !== 'cache-flush') return FIELDS[operation];
	return ['scope', ...(SCOPE_FIELDS[scope] ?? [])];
}

export type Values = Record<string, string>;

/** The values of the form for a body, such as that of a link; what is no text or number is left out. */
export function valuesOf(body: unknown): Values {
	if (typeof body !== 'object' || body === null) return {};
	const plain = Object.entries(body).filter(([, value]) => typeof value === 'string' || typeof value === 'number');
	return Object.fromEntries(plain.map(([name, value]) => [name, String(value)]));
}

/** The body of a proposal, or the problems by field. */
export function bodyOf(
	operation: ProposedOperation,
	values: Values,
	json: string
): { body: Record<string, unknown> } | { problems: Values } {
	if (isJson(operation)) return jsonBody(json);
	const body: Record<string, unknown> = {};
	const problems: Values = {};
	for (const name of fieldsOf(operation, values['scope'] ?? '')) {
		const value = (values[name] ?? '').trim();
		if (value === '') continue;
		const isInteger = INTEGERS.includes(name);
		if (isInteger && !/^\d{1,15}$/.test(value)) problems[name] = words.notInteger;
		body[name] = isInteger ? Number(value) : value;
	}
	return Object.keys(problems).length > 0 ? { problems } : { body };
}

function jsonBody(json: string): { body: Record<string, unknown> } | { problems: Values } {
	try {
		const body = JSON.parse(json) as unknown;
		if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { body: body as Record<string, unknown> };
	} catch {
		// the same message
	}
	return { problems: { json: words.notJson } };
}
