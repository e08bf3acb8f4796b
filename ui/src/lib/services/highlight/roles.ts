/** A piece of code with its role, which decides its colour; or a hidden character by its code point. */
export type CodePiece = { text: string; role: Role | null } | { mark: string };
export type CodeLine = CodePiece[];

export const ROLES = ['keyword', 'string', 'number', 'comment', 'function', 'type', 'attribute', 'meta', 'added', 'removed'] as const;
export type Role = (typeof ROLES)[number];

/** The roles of highlight.js's scopes, the first part of their names. */
const SCOPES: Record<string, Role> = {
	...{ keyword: 'keyword', literal: 'keyword', operator: 'keyword', 'selector-tag': 'keyword', name: 'keyword', section: 'keyword' },
	...{ string: 'string', regexp: 'string', char: 'string', code: 'string', link: 'string', quote: 'comment' },
	...{ number: 'number', symbol: 'number', bullet: 'number' },
	...{ comment: 'comment', doctag: 'comment', formula: 'string' },
	...{ title: 'function', 'selector-id': 'function', 'selector-class': 'function' },
	...{ type: 'type', built_in: 'type', class: 'type', 'template-tag': 'type' },
	...{ attr: 'attribute', attribute: 'attribute', property: 'attribute', variable: 'attribute', 'template-variable': 'attribute' },
	...{ 'selector-attr': 'attribute', 'selector-pseudo': 'attribute' },
	...{ meta: 'meta', prompt: 'meta', addition: 'added', deletion: 'removed' }
};

/** The role of an element with these classes (`hljs-title`, `function_`). */
export function roleOf(classes: readonly unknown[]): Role | null {
	const scope = String(classes[0] ?? '').replace(/^hljs-/, '');
	if (scope === 'title' && classes.includes('class_')) return 'type';
	if (scope === 'params' || scope === 'subst') return null;
	return SCOPES[scope] ?? null;
}
