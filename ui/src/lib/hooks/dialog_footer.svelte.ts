import { getContext, setContext, type Snippet } from 'svelte';

/** What a form inside a dialog shows in the dialog's own last line, which is always in view. */

const KEY = Symbol('the last line of a dialog');

interface Footer {
	content: Snippet | undefined;
}

/** Of a dialog: what its content wants to show before "Close". */
export function provideDialogFooter(): Footer {
	let content: Snippet | undefined = $state.raw();
	const footer: Footer = {
		get content() {
			return content;
		},
		set content(value) {
			content = value;
		}
	};
	return setContext(KEY, footer);
}

/** Show a snippet in the last line of the dialog around this component; returns false outside a dialog. */
export function useDialogFooter(content: Snippet): boolean {
	const footer = getContext<Footer | undefined>(KEY);
	if (footer === undefined) return false;
	$effect(() => {
		footer.content = content;
		return () => (footer.content = undefined);
	});
	return true;
}
