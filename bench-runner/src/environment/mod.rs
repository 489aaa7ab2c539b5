//! What of this machine can influence a figure: fingerprint, kernel, cgroups, container runtime.
