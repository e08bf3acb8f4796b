/**
 * The end of a text that is still written, so that it does not flicker: a line that may become anything is held back, and
 * an emphasis or a link without its end is shown as what it will most likely be.
 */

/** A last line of which nobody can say what it becomes: a list, a heading, a rule, a fence, the underline of a heading. */
const UNDECIDED =
	/(?:^|\n)[ \t]*(?:[-=*_+#>~|`$]{1,6}|\d{1,9}[.)]?|[-*+] \[[ xX]?|\[\^?[^\]\n]{0,60}|\\|(?:`{3,}|~{3,})[^\n`]*)[ \t]*$/;
/** In a fence: a line that may become its end. */
const END_OF_FENCE = /^[ \t>]*(?:`+|~+)[ \t]*$/;
/** A row that may be the heading of a table: its second line decides. */
const TABLE_START = /(?:^|\n\n)[ \t]*\|[^\n]*(?:\n[ \t|:-]*)?$/;

export function settled(text: string): string {
	const lineStart = text.lastIndexOf('\n') + 1;
	const line = text.slice(lineStart);
	if (isInFence(text.slice(0, lineStart))) return END_OF_FENCE.test(line) ? text.slice(0, lineStart) : text;
	const undecided = TABLE_START.exec(text) ?? UNDECIDED.exec(text);
	if (undecided) return text.slice(0, undecided.index);
	// a link without its end is its words
	const words = text.replace(/!?\[([^[\]\n]{1,300})\]\([^()\s]{0,4000}$/, '$1');
	return words + missingEnds(words.slice(lineStart), words);
}

/** Whether the text ends inside a fenced block. */
function isInFence(text: string): boolean {
	let fence = '';
	for (const found of text.matchAll(/^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})([^\n]*)/gm)) {
		const mark = found[1] ?? '';
		if (!fence) fence = mark;
		else if (mark[0] === fence[0] && mark.length >= fence.length && !(found[2] ?? '').trim()) fence = '';
	}
	return fence !== '';
}

/** What closes the last line's code, strong emphasis or emphasis. */
function missingEnds(line: string, text: string): string {
	if (count(line, /`+/g) % 2 === 1) return /(`+)(?!.*`)/.exec(line)?.[1] ?? '';
	if (/\$|\\[([]/.test(line)) return ''; // its stars may be those of a formula
	const words = line.replace(/`[^`]*`/g, '').replace(/\\./g, '');
	const paragraph = text.slice(text.lastIndexOf('\n\n') + 1).replace(/`[^`]*`/g, '').replace(/\\./g, '');
	const isStrong = count(words, /\*\*/g) % 2 === 1 && count(paragraph, /\*\*/g) % 2 === 1 && /\*\*\S[^*]*$/.test(words);
	if (isStrong) return /\s$/.test(text) ? '' : '**';
	return '';
}

function count(text: string, pattern: RegExp): number {
	return text.match(pattern)?.length ?? 0;
}
