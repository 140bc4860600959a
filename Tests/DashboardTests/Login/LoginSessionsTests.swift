import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct LoginSessionsTests {
    private let start = Moment(Timestamp(seconds: 1_700_000_000))
    private let anna = AccountName("anna")!
    private let annaUser = User("anna")!

    @Test func `a token opens its own password and no other`() throws {
        let (token, other) = (LoginToken(), LoginToken())
        let sealed = token.seal(Secret("correct horse"), for: anna)
        #expect(token.open(sealed, for: anna) == Secret("correct horse"))
        #expect(other.open(sealed, for: anna) == nil)
        #expect(token.open(sealed, for: .operators) == nil)
        #expect(token.open(Array(sealed.dropLast()), for: anna) == nil)
        #expect(LoginToken(token.text) == token)
        #expect(token.text.utf8.count == 43)
        #expect(token.id == LoginToken(token.text)?.id && token.id != other.id)
    }

    @Test(arguments: ["", "x", String(repeating: "A", count: 42), String(repeating: "A", count: 44), "../../etc"])
    func `other text is no token`(text: String) {
        #expect(LoginToken(text) == nil)
    }

    @Test(arguments: [("anna", true), ("_operator", true), ("_session-engine", false), ("Anna", false), ("", false)])
    func `people and the operator may log in`(name: String, isAllowed: Bool) {
        #expect((AccountName(name) != nil) == isAllowed)
    }

    @Test func `a login ends after 30 days, after 7 unused, and an operator's after 12 hours`() {
        var sessions = LoginSessions()
        let (one, two, operators) = (LoginToken().id, LoginToken().id, LoginToken().id)
        _ = sessions.begin(one, anna, sealed: [1], .init(seen: [annaUser]), start)
        _ = sessions.begin(two, anna, sealed: [1], .init(seen: [annaUser]), start)
        _ = sessions.begin(operators, .operators, sealed: [1], .init(seen: []), start)
        #expect(sessions.use(operators, start + 43_199).record != nil)
        #expect(sessions.use(operators, start + 43_200).changes.ended == [operators])
        for day in 1...29 { #expect(sessions.use(one, start + Double(day) * 86_400).record != nil) }
        #expect(sessions.use(two, start + 7 * 86_400).record == nil)
        #expect(sessions.expire(start + 30 * 86_400).ended == [one])
        #expect(sessions.records.isEmpty)
    }

    @Test func `an account's 21st login ends the one that was used the longest ago`() throws {
        var sessions = LoginSessions()
        let ids = (0..<20).map { _ in LoginToken().id }
        for (index, id) in ids.enumerated() {
            _ = sessions.begin(id, anna, sealed: [], .init(seen: []), start + Double(index))
        }
        _ = sessions.use(ids[0], start + 7_200)
        let changes = sessions.begin(LoginToken().id, anna, sealed: [], .init(seen: []), start + 7_300)
        #expect(changes.ended == [ids[1]])
        #expect(sessions.logins(of: anna).count == 20)
    }

    @Test func `stored logins and browsers are those in memory after any history`() throws {
        var random = SeededRandom()
        for _ in 0..<50 {
            var sessions = LoginSessions()
            var disk: [RecordChange.Key: [UInt8]] = [:]
            var now = start
            var ids: [LoginID] = []
            let accounts = [anna, AccountName("ben")!, .operators]
            func store(_ changes: [RecordChange]) { for change in changes { disk[change.key] = change.value } }
            for _ in 0..<200 {
                now = now + Double.random(in: 0...40_000, using: &random)
                let account = accounts.randomElement(using: &random)!
                switch Int.random(in: 0..<8, using: &random) {
                case 0...2:
                    ids.append(LoginToken().id)
                    store(sessions.begin(ids.last!, account, sealed: [7], .init(seen: [annaUser]), now).writes)
                    store(sessions.remember(LoginToken().id, for: account, now))
                case 3, 4: store(ids.randomElement(using: &random).map { sessions.use($0, now).changes.writes } ?? [])
                case 5: store(ids.randomElement(using: &random).map { sessions.end($0).writes } ?? [])
                case 6: store(sessions.set(.init(seen: [annaUser, User("ben")!]), of: account).writes)
                default: store(sessions.expire(now).writes)
                }
                for account in accounts { #expect(sessions.logins(of: account).count <= LoginSessions.limit) }
            }
            var loaded = LoginSessions()
            for (key, value) in disk {
                if key.collection == .logins {
                    let record = try JSONCoding.decode(LoginSessions.Record.self, from: value, now: now)
                    loaded.load(LoginID(key.key), record, now)
                } else {
                    let browser = try JSONCoding.decode(LoginSessions.Browser.self, from: value, now: now)
                    loaded.load(LoginID(key.key), browser, now)
                }
            }
            #expect(loaded.records == sessions.records)
            #expect(loaded.browsers == sessions.browsers)
            #expect(accounts.allSatisfy { loaded.logins(of: $0) == sessions.logins(of: $0) })
        }
    }

    @Test func `a login that may see other people has to open its streams again`() {
        var sessions = LoginSessions()
        let id = LoginToken().id
        _ = sessions.begin(id, anna, sealed: [], .init(seen: [annaUser]), start)
        #expect(sessions.set(.init(seen: [annaUser]), of: anna) == .init())
        #expect(sessions.set(.init(seen: [annaUser, User("ben")!]), of: anna).ended == [id])
        #expect(sessions.use(id, start).record?.seen.count == 2)
        #expect(sessions.set(.init(seen: [annaUser, User("ben")!], isViewer: true), of: anna).ended == [id])
        #expect(sessions.use(id, start).record?.isViewer == true)
    }
}
