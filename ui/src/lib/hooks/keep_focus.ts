/** A list, and what groups its items: their beginning may be far away, and only items have a role in a list. */
const OF_A_LIST = 'ol, ul, [role="list"], [role="list"] > :not([role="listitem"])';

/**
 * Keeps the focus where it was when the element that had it goes, such as a button whose action is done: the nearest element
 * around it that is still there gets it. Otherwise the browser gives it to the page's beginning, far from where the user works.
 */
export function keepFocus(container: HTMLElement): () => void {
	/** What had the focus last, then the elements around it. */
	let path: readonly HTMLElement[] = [];

	function note({ target }: FocusEvent): void {
		path = [];
		for (let one = target as HTMLElement | null; one && container.contains(one); one = one.parentElement) path = [...path, one];
	}

	function restore(): void {
		if (document.activeElement !== document.body || path[0]?.isConnected !== false) return;
		const left = path.find((one) => one.isConnected && !one.matches(OF_A_LIST));
		path = [];
		if (!left) return;
		if (!left.hasAttribute('tabindex')) left.tabIndex = -1;
		left.focus({ preventScroll: true });
	}

	const observer = new MutationObserver(restore);
	observer.observe(container, { childList: true, subtree: true });
	container.addEventListener('focusin', note);
	return () => {
		observer.disconnect();
		container.removeEventListener('focusin', note);
	};
}
