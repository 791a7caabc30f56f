// SPDX-License-Identifier: Apache-2.0

// checkvalid asks google/pprof whether files are valid profiles: one line for
// each that is not, and then exit status 1.
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err != nil {
		return err
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	for _, location := range p.Location {
		if location.Mapping == nil {
			return fmt.Errorf("location %d has no mapping", location.ID)
		}
	}
	return nil
}

func main() {
	status := 0
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: checkvalid FILE...")
		os.Exit(2)
	}
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Printf("%s: %v\n", path, err)
			status = 1
		}
	}
	os.Exit(status)
}
