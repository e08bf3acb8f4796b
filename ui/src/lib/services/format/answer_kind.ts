/** Whether an answer is shown as data: it is JSON, or begins like it where the conversation asks for a form. */
export function isDataAnswer(text: string, hasFormat: boolean, isStreaming: boolean): boolean {
	const start = /^\s*([{[])/.exec(text)?.[1];
	if (!start) return false;
	if (hasFormat) return true;
	if (isStreaming || !(start === '{' ? /\}\s*$/ : /\]\s*$/).test(text)) return false;
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}
