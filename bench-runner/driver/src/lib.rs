//! The protocol between `bench-runner` and a program that drives one embedded engine.
