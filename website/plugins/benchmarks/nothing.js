// A module without contents, in place of one that the browser does not need.
