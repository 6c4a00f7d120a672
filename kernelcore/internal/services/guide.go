package services

import (
	"context"
	"embed"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

//go:embed guide
var guideFiles embed.FS

// usingBB is the kernel's own chapter, the first of the guide.
const usingBB = "using-bb"

// skillHead tells an agent's program when to read the skill.
const skillHead = `---
name: bb
description: Call the plugins of the running bb server from the command line.
---

`

func (a *answers) listChapters(context.Context, kernelcontract.None) ([]kernelapi.Chapter, error) {
	s := a.Snapshot()
	return chapters(&s)
}

// chapters returns the kernel's chapter and those of the plugins that are ready.
func chapters(s *Snapshot) ([]kernelapi.Chapter, error) {
	own, err := guideFiles.ReadFile("guide/" + usingBB + ".md")
	if err != nil {
		return nil, err
	}
	list := []kernelapi.Chapter{{PluginID: kernelcontract.KernelID, Name: usingBB, Title: "Using bb", Text: string(own)}}
	for _, p := range s.Plugins {
		if p.State != manifest.Ready {
			continue
		}
		for _, c := range p.Guide {
			list = append(list, kernelapi.Chapter{PluginID: p.ID, Name: c.Name, Title: c.Title, Text: c.Text})
		}
	}
	return list, nil
}

func (a *answers) getSkill(_ context.Context, in kernelapi.SkillInput) (string, error) {
	s := a.Snapshot()
	list, err := chapters(&s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(skillHead)
	for _, c := range list {
		b.WriteString(strings.TrimSpace(c.Text) + "\n\n")
	}
	methods := a.contract.of(a.ServerID, &s).Methods()
	var disabled []string
	for i := range s.Plugins {
		if p := &s.Plugins[i]; p.State == manifest.Disabled {
			disabled = append(disabled, p.ID)
			methods = append(methods, declared(p)...)
		}
	}
	b.WriteString(docs.SkillReference(methods, docs.SkillOptions{ActiveTools: in.ActiveTools, DisabledPlugins: disabled}))
	return b.String(), nil
}

// declared describes the methods that a disabled plugin would offer. What is wrong with them shows when it is enabled.
func declared(p *Plugin) []docs.MethodDoc {
	var list []docs.MethodDoc
	for _, s := range p.Declared {
		if s == nil {
			continue
		}
		def, err := s.Def()
		if err != nil {
			continue
		}
		for _, d := range def.Methods {
			w, err := word.Of(d, def)
			if err != nil {
				continue
			}
			if doc, err := docs.Of(d, w); err == nil {
				list = append(list, doc)
			}
		}
	}
	return list
}
