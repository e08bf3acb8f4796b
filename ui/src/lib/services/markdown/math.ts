/** Where math is in Markdown: `$$..$$`, `\[..\]`, `\(..\)` and `$..$`, as extensions of marked's lexer. */

import type { TokenizerExtensionFunction, TokenizerStartFunction, Tokens } from 'marked';

/** The longest formula, in characters. */
const LONGEST = 8_000;

export interface MathToken extends Tokens.Generic {
	type: 'math';
	tex: string;
	isBlock: boolean;
	/** Whether its end has not come yet: it is shown as it is written. */
	isOpen: boolean;
}

/** Whether a text can contain math at all. */
export function mayHaveMath(text: string): boolean {
	return /\$|\\[([]/.test(text);
}

/** A formula that begins a line. With `isStreaming`, also one whose end has not come. */
export function blockMath(isStreaming: boolean): TokenizerExtensionFunction {
	return function (source) {
		const opening = /^ {0,3}(\$\$|\\\[)/.exec(source);
		const mark = opening?.[1];
		if (!opening || !mark) return undefined;
		const start = opening[0].length;
		const end = source.indexOf(mark === '$$' ? '$$' : '\\]', start);
		const tex = source.slice(start, end === -1 ? undefined : end);
		if (tex.length > LONGEST || /\n[ \t]*\n/.test(tex)) return undefined;
		if (end === -1) return isStreaming ? token(source, tex, true, true) : undefined;
		const rest = /^[ \t]*(?:\n|$)/.exec(source.slice(end + 2)); // more text on its line: it is a part of a paragraph
		return rest && tex.trim() ? token(source.slice(0, end + 2 + rest[0].length), tex, true) : undefined;
	};
}

/** A paragraph ends before a line that begins with a formula. */
export const startOfBlockMath: TokenizerStartFunction = (source) => {
	const found = /\n {0,3}(?:\$\$|\\\[)/.exec(source);
	return found ? found.index + 1 : undefined;
};

/** A formula inside a line. */
export const inlineMath: TokenizerExtensionFunction = (source, before) => {
	for (const [opening, closing, isBlock] of [
		['$$', '$$', true],
		['\\[', '\\]', true],
		['\\(', '\\)', false]
	] as const) {
		if (!source.startsWith(opening)) continue;
		const end = source.indexOf(closing, 2);
		const tex = source.slice(2, end);
		if (end === -1 || tex.length > LONGEST || !tex.trim()) return undefined;
		return token(source.slice(0, end + 2), tex, isBlock);
	}
	if (!source.startsWith('$') || /[\p{L}\p{N}$]$/u.test(before.at(-1)?.raw.slice(-2) ?? '')) return undefined;
	const found = /^\$((?:\\.|[^\\$\n]){1,600})\$(?![\dA-Z_{$])/.exec(source);
	const tex = found?.[1];
	return found && tex && !isMoney(tex) ? token(found[0], tex, false) : undefined;
};

export const startOfInlineMath: TokenizerStartFunction = (source) => {
	const at = source.search(/\$|\\[([]/);
	return at === -1 ? undefined : at;
};

/** The text with its formulas as dots, so that their `*` and `_` begin no emphasis. The length stays. */
export function withMathMasked(text: string): string {
	const masked = (formula: string): string => '.'.repeat(formula.length);
	return text
		.replace(/\$\$[^$]{1,8000}\$\$/g, masked)
		.replace(/\$(?!\s)(?:\\.|[^\\$\n]){1,600}\$(?![\dA-Z_{$])/g, (formula) => (isMoney(formula.slice(1, -1)) ? formula : masked(formula)));
}

/** Whether what stands between two dollar signs is prose: `$5 and the other for US$`. */
function isMoney(text: string): boolean {
	return /^\s|\s$/.test(text) || /^\d[\d.,]*\s+[A-Za-z]{2,}/.test(text);
}

function token(raw: string, tex: string, isBlock: boolean, isOpen = false): MathToken {
	return { type: 'math', raw, tex: tex.trim(), isBlock, isOpen };
}
