import Foundation
import MQTT
import ServiceKit
import Workouts

/// The users' credentials for uploads: a folder with one file for each user.
///
/// Every upload reads its file, so changes take effect at once.
struct UploadCredentials: Sendable {
    enum Problem: Error, Equatable {
        /// The file stays unusable until it changes.
        case unusable(String)
        /// A later attempt may succeed.
        case unreadable(String)
    }

    let folder: String

    /// Returns whether the user has a file.
    func has(_ user: User) -> Bool {
        access(path(of: user), F_OK) == 0
    }

    /// The value of the header `Authorization`.
    ///
    /// - Throws: `Problem`. The user reads its text, so it names neither the file's path nor its contents.
    func authorization(of user: User) throws(Problem) -> Secret {
        let line = try read(user)
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch words.first?.lowercased() {
        case "bearer" where words.count == 2 && words[1].utf8.allSatisfy { (0x21...0x7e).contains($0) }:
            return Secret("Bearer \(words[1])")
        case "basic" where words.count == 2 && words[1].contains(":"):
            return Secret("Basic \(Data(words[1].utf8).base64EncodedString())")
        default:
            throw .unusable(
                "invalid credentials of '\(user)'; expected one line 'bearer TOKEN' or 'basic NAME:PASSWORD'")
        }
    }

    /// The only line of a user's file; empty if there are several.
    private func read(_ user: User) throws(Problem) -> String {
        do throws(PasswordFile.Problem) {
            let text = try PasswordFile(path: path(of: user)).read()
            return text.value.contains(where: \.isNewline) ? "" : text.value
        } catch {
            switch error {
            case .unreadable(_, let reason) where has(user):
                throw .unreadable("unreadable credentials of '\(user)': \(reason)")
            case .unreadable: throw .unusable("no credentials of '\(user)'")
            case .notAFile: throw .unusable("invalid credentials of '\(user)': not a regular file")
            case .readableByOthers:
                throw .unusable(
                    "invalid credentials of '\(user)': other accounts have access to the file; expected mode 600")
            case .empty: throw .unusable("invalid credentials of '\(user)': the file is empty")
            }
        }
    }

    private func path(of user: User) -> String {
        "\(folder)/\(user)"
    }
}
