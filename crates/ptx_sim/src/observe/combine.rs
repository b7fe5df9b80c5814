//! Combinations of observers: no observer, a pair, and an optional one.

use super::{BlockShape, Boxed, Bypass, Factor, Observer, Peek, Range, Site, Touch, Variable, no_shadow};
use crate::program::{Order, Scope};

/// An observer that ignores all events.
impl Observer for () {
    type Block = ();
    type Shadow = ();
    fn shadow(&mut self) -> &mut () {
        self
    }
    #[inline(always)]
    fn begin(&mut self, _: &BlockShape) {}
    fn end(&mut self, (): ()) {}
    fn ran(&mut self, _: &mut Self::Block, _: u32, _: Site, _: u32, _: u32) {}
    fn guarded(&mut self, _: Site, _: u32) {}
    fn branch(&mut self, _: Site, _: bool) {}
    fn touch(&mut self, _: &mut Self::Block, _: &Touch<'_>) {}
    fn bypass(&mut self, _: &mut Self::Block, _: &Bypass<'_>) {}
    fn fence(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Order, _: Scope) {}
    fn meet(&mut self, _: &mut Self::Block, _: u32, _: u32, _: u32) {}
    fn arrive(&mut self, _: &mut Self::Block, _: u32, _: u32) {}
    fn barrier(&mut self, _: &mut Self::Block, _: u32, _: u32, _: u32) {}
    fn left_out(&mut self, _: &mut Self::Block, _: u32, _: Site, _: u32) {}
    fn proxy_fence(&mut self, _: &mut Self::Block, _: u32, _: u32) {}
    fn announce(&mut self, _: &mut Self::Block, _: &Touch<'_>) {}
    fn issue(&mut self, _: &mut Self::Block, _: &Range, _: Peek<'_>) {}
    fn range(&mut self, _: &mut Self::Block, _: &Range, _: Peek<'_>) {}
    fn boxed(&mut self, _: &mut Self::Block, _: &Boxed<'_>) {}
    fn factor(&mut self, _: &mut Self::Block, _: &Factor) {}
    fn release(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Variable, _: Scope) {}
    fn acquire(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Variable, _: Scope) {}
    fn absorb(&mut self, (): ()) {}
}

/// A pair of observers acts as one observer; the second one may track undefined values.
impl<A: Observer<Shadow = ()>, B: Observer> Observer for (A, B) {
    type Block = (A::Block, B::Block);
    type Shadow = B::Shadow;

    #[inline(always)]
    fn shadow(&mut self) -> &mut B::Shadow {
        self.1.shadow()
    }
    fn begin(&mut self, shape: &BlockShape) -> Self::Block {
        (self.0.begin(shape), self.1.begin(shape))
    }
    fn end(&mut self, block: Self::Block) {
        self.0.end(block.0);
        self.1.end(block.1);
    }
    #[inline(always)]
    fn ran(&mut self, block: &mut Self::Block, warp: u32, from: Site, end: u32, active: u32) {
        self.0.ran(&mut block.0, warp, from, end, active);
        self.1.ran(&mut block.1, warp, from, end, active);
    }
    #[inline(always)]
    fn guarded(&mut self, site: Site, off: u32) {
        self.0.guarded(site, off);
        self.1.guarded(site, off);
    }
    #[inline(always)]
    fn branch(&mut self, site: Site, divergent: bool) {
        self.0.branch(site, divergent);
        self.1.branch(site, divergent);
    }
    #[inline(always)]
    fn touch(&mut self, block: &mut Self::Block, touch: &Touch<'_>) {
        self.0.touch(&mut block.0, touch);
        self.1.touch(&mut block.1, touch);
    }
    fn bypass(&mut self, block: &mut Self::Block, past: &Bypass<'_>) {
        self.0.bypass(&mut block.0, past);
        self.1.bypass(&mut block.1, past);
    }
    #[inline(always)]
    fn fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32, order: Order, scope: Scope) {
        self.0.fence(&mut block.0, warp, mask, order, scope);
        self.1.fence(&mut block.1, warp, mask, order, scope);
    }
    #[inline(always)]
    fn meet(&mut self, block: &mut Self::Block, warp: u32, mask: u32, live: u32) {
        self.0.meet(&mut block.0, warp, mask, live);
        self.1.meet(&mut block.1, warp, mask, live);
    }
    #[inline(always)]
    fn arrive(&mut self, block: &mut Self::Block, warp: u32, id: u32) {
        self.0.arrive(&mut block.0, warp, id);
        self.1.arrive(&mut block.1, warp, id);
    }
    #[inline(always)]
    fn barrier(&mut self, block: &mut Self::Block, id: u32, arrived: u32, waited: u32) {
        self.0.barrier(&mut block.0, id, arrived, waited);
        self.1.barrier(&mut block.1, id, arrived, waited);
    }
    fn left_out(&mut self, block: &mut Self::Block, warp: u32, site: Site, exited: u32) {
        self.0.left_out(&mut block.0, warp, site, exited);
        self.1.left_out(&mut block.1, warp, site, exited);
    }
    fn proxy_fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32) {
        self.0.proxy_fence(&mut block.0, warp, mask);
        self.1.proxy_fence(&mut block.1, warp, mask);
    }
    fn announce(&mut self, block: &mut Self::Block, writes: &Touch<'_>) {
        self.0.announce(&mut block.0, writes);
        self.1.announce(&mut block.1, writes);
    }
    fn issue(&mut self, block: &mut Self::Block, range: &Range, peek: Peek<'_>) {
        self.0.issue(&mut block.0, range, peek);
        self.1.issue(&mut block.1, range, peek);
    }
    fn range(&mut self, block: &mut Self::Block, range: &Range, peek: Peek<'_>) {
        self.0.range(&mut block.0, range, peek);
        self.1.range(&mut block.1, range, peek);
    }
    fn boxed(&mut self, block: &mut Self::Block, written: &Boxed<'_>) {
        self.0.boxed(&mut block.0, written);
        self.1.boxed(&mut block.1, written);
    }
    fn factor(&mut self, block: &mut Self::Block, factor: &Factor) {
        self.0.factor(&mut block.0, factor);
        self.1.factor(&mut block.1, factor);
    }
    fn release(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        self.0.release(&mut block.0, warp, mask, variable, scope);
        self.1.release(&mut block.1, warp, mask, variable, scope);
    }
    fn acquire(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        self.0.acquire(&mut block.0, warp, mask, variable, scope);
        self.1.acquire(&mut block.1, warp, mask, variable, scope);
    }
    fn absorb(&mut self, other: Self) {
        self.0.absorb(other.0);
        self.1.absorb(other.1);
    }
}

/// An observer that may be disabled in a launch.
impl<O: Observer<Shadow = ()>> Observer for Option<O> {
    type Block = Option<O::Block>;
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }
    fn begin(&mut self, shape: &BlockShape) -> Self::Block {
        self.as_mut().map(|this| this.begin(shape))
    }
    fn end(&mut self, block: Self::Block) {
        if let (Some(this), Some(block)) = (self, block) {
            this.end(block);
        }
    }
    #[inline(always)]
    fn ran(&mut self, block: &mut Self::Block, warp: u32, from: Site, end: u32, active: u32) {
        if let (Some(this), Some(block)) = (self, block) {
            this.ran(block, warp, from, end, active);
        }
    }
    #[inline(always)]
    fn guarded(&mut self, site: Site, off: u32) {
        if let Some(this) = self {
            this.guarded(site, off);
        }
    }
    #[inline(always)]
    fn branch(&mut self, site: Site, divergent: bool) {
        if let Some(this) = self {
            this.branch(site, divergent);
        }
    }
    #[inline(always)]
    fn touch(&mut self, block: &mut Self::Block, touch: &Touch<'_>) {
        if let (Some(this), Some(block)) = (self, block) {
            this.touch(block, touch);
        }
    }
    #[inline(always)]
    fn bypass(&mut self, block: &mut Self::Block, past: &Bypass<'_>) {
        if let (Some(this), Some(block)) = (self, block) {
            this.bypass(block, past);
        }
    }
    #[inline(always)]
    fn fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32, order: Order, scope: Scope) {
        if let (Some(this), Some(block)) = (self, block) {
            this.fence(block, warp, mask, order, scope);
        }
    }
    #[inline(always)]
    fn meet(&mut self, block: &mut Self::Block, warp: u32, mask: u32, live: u32) {
        if let (Some(this), Some(block)) = (self, block) {
            this.meet(block, warp, mask, live);
        }
    }
    #[inline(always)]
    fn arrive(&mut self, block: &mut Self::Block, warp: u32, id: u32) {
        if let (Some(this), Some(block)) = (self, block) {
            this.arrive(block, warp, id);
        }
    }
    #[inline(always)]
    fn barrier(&mut self, block: &mut Self::Block, id: u32, arrived: u32, waited: u32) {
        if let (Some(this), Some(block)) = (self, block) {
            this.barrier(block, id, arrived, waited);
        }
    }
    #[inline(always)]
    fn left_out(&mut self, block: &mut Self::Block, warp: u32, site: Site, exited: u32) {
        if let (Some(this), Some(block)) = (self, block) {
            this.left_out(block, warp, site, exited);
        }
    }
    #[inline(always)]
    fn proxy_fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32) {
        if let (Some(this), Some(block)) = (self, block) {
            this.proxy_fence(block, warp, mask);
        }
    }
    #[inline(always)]
    fn announce(&mut self, block: &mut Self::Block, writes: &Touch<'_>) {
        if let (Some(this), Some(block)) = (self, block) {
            this.announce(block, writes);
        }
    }
    #[inline(always)]
    fn issue(&mut self, block: &mut Self::Block, range: &Range, peek: Peek<'_>) {
        if let (Some(this), Some(block)) = (self, block) {
            this.issue(block, range, peek);
        }
    }
    #[inline(always)]
    fn range(&mut self, block: &mut Self::Block, range: &Range, peek: Peek<'_>) {
        if let (Some(this), Some(block)) = (self, block) {
            this.range(block, range, peek);
        }
    }
    #[inline(always)]
    fn boxed(&mut self, block: &mut Self::Block, written: &Boxed<'_>) {
        if let (Some(this), Some(block)) = (self, block) {
            this.boxed(block, written);
        }
    }
    #[inline(always)]
    fn factor(&mut self, block: &mut Self::Block, factor: &Factor) {
        if let (Some(this), Some(block)) = (self, block) {
            this.factor(block, factor);
        }
    }
    #[inline(always)]
    fn release(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        if let (Some(this), Some(block)) = (self, block) {
            this.release(block, warp, mask, variable, scope);
        }
    }
    #[inline(always)]
    fn acquire(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        if let (Some(this), Some(block)) = (self, block) {
            this.acquire(block, warp, mask, variable, scope);
        }
    }
    fn absorb(&mut self, other: Self) {
        if let (Some(this), Some(other)) = (self, other) {
            this.absorb(other);
        }
    }
}
