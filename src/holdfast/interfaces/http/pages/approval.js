"use strict";
// The secret stands behind the # of the link. It is taken away from the address and the history, and sent in a form of its own:
// that only asks what the question is. A decision is a click on one of two buttons.
function look() {
  const code = location.hash.slice(1);
  if (!/^hfa_[A-Za-z0-9_-]{43}$/.test(code)) return;
  history.replaceState(null, "", location.pathname);
  const form = document.createElement("form");
  const field = document.createElement("input");
  form.method = "post";
  field.type = "hidden";
  field.name = "code";
  field.value = code;
  form.append(field);
  document.body.append(form);
  form.submit();
}
look();
addEventListener("hashchange", look);  // the link opened again in the same window loads nothing anew

const decide = document.getElementById("decide");
if (decide) {
  // A second click would ask again with a secret that the first has used up.
  let sent = false;
  decide.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  addEventListener("pageshow", () => { sent = false; });
}
