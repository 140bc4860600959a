// Discards this browser's copies of the presses that the person discards: another login of the account would post them again.
// No module: it runs before the button exists.

document.addEventListener("click", ({target}) => {
  if (!(target instanceof Element) || target.closest("#discard") === null) return;
  const login = document.getElementById("main")?.dataset.login;
  try {
    for (const name of [login, `${login}.runs`]) localStorage.removeItem(`pacebus.presses.${name}`);
  } catch {
    // A blocked storage has none.
  }
});
