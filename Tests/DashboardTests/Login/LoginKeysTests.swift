import HTTPTypes
import Hummingbird
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct LoginKeysTests {
    private static let one = String(repeating: "0a", count: 32)
    private static let other = String(repeating: "B1", count: 32)
    private let login = Login(User("anna")!, Secret("pass wörd"), at: Timestamp(seconds: 1_700_000_000))

    @Test func `a login comes back as it was sealed, also after the key was changed`() throws {
        let sealed = try #require(LoginKeys(Self.one)).seal(login, for: "pacebus")
        #expect(!sealed.contains("anna") && sealed.allSatisfy { $0.isLetter || $0.isNumber || "-_".contains($0) })
        for text in [Self.one, "\(Self.other)\n\(Self.one)\n"] {
            #expect(LoginKeys(text)?.open(Login.self, sealed, for: "pacebus") == login)
        }
        #expect(LoginKeys(Self.other)?.open(Login.self, sealed, for: "pacebus") == nil)
        #expect(LoginKeys(Self.one)?.open(Login.self, sealed, for: "pacebus-browser") == nil)
    }

    @Test(arguments: ["", "\n", "0a", one + "0", one.replacing("a", with: "g"), "\(one)\nx", one + "ä"])
    func `a text that is no list of keys is refused`(text: String) {
        #expect(LoginKeys(text) == nil)
    }

    @Test func `no changed cookie opens`() {
        var random = SeededRandom()
        let keys = LoginKeys()
        let sealed = Array(keys.seal(login, for: "pacebus"))
        for _ in 0..<2_000 {
            var text = sealed
            switch Int.random(in: 0...2, using: &random) {
            case 0: text = Array(text[..<Int.random(in: 0..<text.count, using: &random)])
            case 1:
                let index = Int.random(in: 0..<text.count, using: &random)
                text[index] = "abcdefghijklmnopqrstuvwxyz-_.= %".randomElement(using: &random) ?? "a"
            default: text.insert("A", at: Int.random(in: 0...text.count, using: &random))
            }
            let opened = keys.open(Login.self, String(text), for: "pacebus")
            // The last character of base64 has bits that mean nothing.
            #expect(opened == nil || text.dropLast() == sealed.dropLast(), "\(String(text))")
        }
    }

    @Test func `a login ends after 30 days or 7 days without use, an operator's after 12 hours`() {
        #expect(login.end == login.loggedInAt + 7 * Login.day)
        var used = login
        used.renewedAt = login.loggedInAt + 6 * Login.day
        #expect(used.end == login.loggedInAt + 13 * Login.day)
        used.renewedAt = login.loggedInAt + 29 * Login.day
        #expect(used.end == login.loggedInAt + 30 * Login.day)
        let operators = Login(.operators, Secret("x"), at: login.loggedInAt)
        #expect(operators.end == login.loggedInAt + 43_200)
        #expect(!login.isDueForRenewal(login.renewedAt + 86_399) && login.isDueForRenewal(login.renewedAt + 86_400))
    }

    @Test func `a login has an id of its own and prints no password`() {
        let again = Login(User("anna")!, Secret("pass wörd"), at: login.loggedInAt)
        #expect(again.id != login.id && again.id.count == 32)
        #expect(!"\(login)".contains("wörd"))
    }
}
