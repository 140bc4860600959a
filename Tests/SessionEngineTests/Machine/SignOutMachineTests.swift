import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Requests that end logins.
struct SignOutMachineTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private let user = User("anna")!
    private let client = Client("page-1")!
    private var machine = SessionEngineMachine()

    private func request(_ kind: SignOut.Kind) -> SignOut { SignOut(id: CommandID(UUID()), client: client, kind: kind) }

    private func answer(in actions: [SessionEngineAction]) -> Reply? {
        actions.compactMap { if case .reply(user, client, let reply) = $0 { reply } else { nil } }.first
    }

    @Test mutating func `a request is stored before it is published and answered`() throws {
        let actions = machine.signOut(request(.one("0a")), of: user, now: Moment(Self.start))
        let reply = try #require(answer(in: actions))
        #expect(actions == [.saveUser(user), .publishSignedOut(user), .reply(user, client, reply)])
        #expect(reply.ok)
        let ended = try #require(machine.users[user]?.signedOut)
        #expect(ended.logins.map(\.id) == ["0a"])
        #expect(ended.logins.map(\.at) == [Self.start])
        #expect(reply.revision == ended.revision)
    }

    @Test mutating func `a repetition ends no later login and gets the stored reply`() throws {
        let all = request(.all)
        let first = try #require(answer(in: machine.signOut(all, of: user, now: Moment(Self.start))))
        let second = machine.signOut(all, of: user, now: Moment(Self.start + 60))
        #expect(machine.users[user]?.signedOut?.before == Self.start)
        #expect(second.count == 1)
        #expect(answer(in: second)?.revision == first.revision)
        #expect(answer(in: second)?.now == Self.start + 60)
    }

    @Test mutating func `each request counts once in any order, with repetitions and steps of the clock`() throws {
        var random = SeededRandom()
        var sent: [SignOut] = []
        var ended: Set<String> = []
        var before: Timestamp?
        var revision = Int64.min
        var elapsed = 0.0
        for _ in 0..<500 {
            elapsed += Double.random(in: 0...3_600, using: &random)
            let now = Moment(Self.start + elapsed).stepped(by: Double.random(in: -600...600, using: &random))
            if let repeated = sent.randomElement(using: &random), Bool.random(using: &random),
                machine.users[user]?.replies.contains(where: { $0.id == repeated.id }) == true
            {
                let former = machine.users[user]?.signedOut
                #expect(machine.signOut(repeated, of: user, now: now).count == 1)
                #expect(machine.users[user]?.signedOut == former)
                continue
            }
            let isAll = Int.random(in: 0..<20, using: &random) == 0
            let name = String(Int.random(in: 0..<40, using: &random))
            let next = request(isAll ? .all : .one(name))
            sent.append(next)
            _ = machine.signOut(next, of: user, now: now)
            let stored = try #require(machine.users[user]?.signedOut)
            #expect(stored.revision > revision)
            revision = stored.revision
            if isAll {
                ended = []
                before = max(before ?? now.wallClock, now.wallClock)
            } else {
                ended.insert(name)
            }
            #expect(stored.before == before)
            #expect(Set(stored.logins.map(\.id)) == ended)
        }
    }
}
