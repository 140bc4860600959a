import Bus
import Testing
import Workouts

@testable import VirtualRun

@Suite struct RunIndexTests {
    private let anna = RunStage.anna
    private let ben = RunStage.ben
    private let cleo = RunStage.cleo

    @Test func `whom to follow changes with a person's first and last open run`() throws {
        var index = RunIndex()
        let (first, second) = (RunStage.id(1), RunStage.id(2))
        let run = try RunStage().run
        index.update(first, before: nil, now: run)
        var hasChanged = index.takeFollowedChange()
        #expect(hasChanged && index.followed == [anna, ben, cleo])
        index.update(second, before: nil, now: run)
        hasChanged = index.takeFollowedChange()
        #expect(!hasChanged)
        index.update(first, before: run, now: nil)
        hasChanged = index.takeFollowedChange()
        #expect(!hasChanged && index.followed == [anna, ben, cleo])
        index.update(second, before: run, now: nil)
        hasChanged = index.takeFollowedChange()
        #expect(hasChanged && index.followed == [])
        hasChanged = index.takeFollowedChange()
        #expect(!hasChanged)
    }

    @Test func `a run that leaves memory leaves nothing`() throws {
        var index = RunIndex()
        let id = RunStage.id(1)
        let session = SessionID(RunStage.uuid(9))
        let run = try RunStage(ghosts: [.session(RunStage.dora, session)]).run
        let key = SessionKey(RunStage.dora, session)
        index.update(id, before: nil, now: run)
        #expect(index.all(of: ben) == [id] && index.all(of: RunStage.dora) == [id])
        #expect(index.runs(of: RunStage.dora) == [] && index.runs(with: key) == [id])
        index.update(id, before: run, now: nil)
        for user in [anna, ben, cleo, RunStage.dora] { #expect(!index.knows(user)) }
        #expect(!index.knows(key))
    }
}
