"use strict";
// The secret stands behind the # of the link. It is put into the form, and away from the address and the history.
// What is sent without a click only asks what the question is; a decision is a click on one of two buttons.
const form = document.forms[0];
const code = location.hash.slice(1);
if (form && form.id === "look" && /^hfa_[A-Za-z0-9_-]{43}$/.test(code)) {
  form.elements.code.value = code;
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}
if (form && form.id === "decide") {
  // A second click would ask again with a secret that the first has used up.
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  addEventListener("pageshow", () => { sent = false; });
}
